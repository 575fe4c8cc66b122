"""From facts to findings: the one entrance of the layering analyser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.cache import FactCache
from analyzers.finding import Finding
from analyzers.globs import matcher
from analyzers.layering.coupling import check_coupling
from analyzers.layering.cycles import check_acyclic, check_import_time_cycles
from analyzers.layering.forbidden import check_forbidden
from analyzers.layering.graph import ImportGraph
from analyzers.layering.layers import check_layers
from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy, ShapePolicy
from analyzers.layering.protected import check_protected
from analyzers.layering.resolution import Resolver
from analyzers.layering.shape import check_shape
from analyzers.python.facts import PythonFacts


def analyse(
    policy: LayeringPolicy,
    modules: Modules,
    facts: Mapping[str, PythonFacts],
    coupling: Mapping[str, Sequence[Sequence[Any]]],
    cache: FactCache | None = None,
) -> list[Finding]:
    """Every place that breaks the policy, without fingerprints and in no particular order.

    Args:
        policy: settings that `check_policy` has nothing to say about.
        modules: the modules of the tree.
        facts: what each Python file says, by path.
        coupling: what `CouplingExtractor.of(policy.coupling)` found, by path.
        cache: keeps what imports lead to.
    """
    return [
        *_imports(policy, graph_of(policy, modules, facts, cache)),
        *check_coupling(policy.coupling, coupling, facts),
        *_shape(policy.shape, modules, facts),
    ]


def graph_of(
    policy: LayeringPolicy, modules: Modules, facts: Mapping[str, PythonFacts], cache: FactCache | None = None
) -> ImportGraph:
    """The import graph, with every name outside of the tree that a contract of the policy speaks of."""
    externals = {pattern for contract in policy.forbidden for pattern in contract.to}
    externals.update(imported for contract in policy.forbidden for _, imported in contract.except_)
    externals.update(pattern for contract in policy.protected for pattern in contract.modules)
    return ImportGraph.build(modules, facts, externals, policy.type_checking_imports, cache)


def _imports(policy: LayeringPolicy, graph: ImportGraph) -> Iterator[Finding]:
    for layers in policy.layers:
        yield from check_layers(layers, graph)
    for forbidden in policy.forbidden:
        yield from check_forbidden(forbidden, graph)
    for acyclic in policy.acyclic:
        yield from check_acyclic(acyclic, graph)
    for protected in policy.protected:
        yield from check_protected(protected, graph)
    if policy.shape.cycles:
        watched = matcher(policy.shape.files)
        yield from (finding for finding in check_import_time_cycles(graph) if watched(finding.path))


def _shape(policy: ShapePolicy, modules: Modules, facts: Mapping[str, PythonFacts]) -> Iterator[Finding]:
    if policy.max_function_lines is None and policy.max_file_lines is None and not policy.private_access:
        return
    watched = matcher(policy.files)
    resolver = Resolver(modules, ())
    for path, said in facts.items():
        if watched(path):
            yield from check_shape(policy, path, said, resolver.folder(path.rpartition("/")[0]).in_tree)
