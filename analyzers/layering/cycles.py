"""LAY004 and LAY204: packages, and modules while they load, that import each other in a circle."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from analyzers.finding import Finding
from analyzers.layering.graph import Edge, ImportGraph
from analyzers.layering.modules import pattern_expression
from analyzers.layering.policy import AcyclicContract
from analyzers.layering.violation import violations
from analyzers.python.facts import ImportFlag

Node = TypeVar("Node", bound=Hashable)


def check_acyclic(contract: AcyclicContract, graph: ImportGraph) -> Iterator[Finding]:
    """Report every import between two children of the package that stand in one circle."""
    children = _children(contract.within, graph)
    edges: dict[tuple[str, str], list[Edge]] = {}
    for importer, ours in children.items():
        for edge in graph.edges_of(importer):
            theirs = children.get(edge.target, ours)
            if theirs != ours and theirs.rpartition(".")[0] == ours.rpartition(".")[0]:
                edges.setdefault((ours, theirs), []).append(edge)
    circles = _circles(edges)

    def chain(edge: Edge) -> tuple[str, ...]:
        way = _way_back(circles, children[edge.importer], children[edge.target])
        return tuple(graph.render([hop]) for hop in (edge, *(edges[pair][0] for pair in way)))

    for ours, theirs in circles:
        for edge in edges[ours, theirs]:
            imported = graph.names[edge.target]
            yield from violations(
                graph,
                edge,
                rule="LAY004",
                subject=f"{contract.name}: {imported}",
                message=f"imports `{imported}`, but `{theirs}` also leads back to `{ours}`",
                hint="Move what both need into a package that imports neither, or turn one direction round.",
                chain=chain,
            )


def check_import_time_cycles(graph: ImportGraph) -> Iterator[Finding]:
    """Report every import that runs while its module loads and leads back to that module."""
    loading = graph.without(ImportFlag.DEFERRED | ImportFlag.TYPE_CHECKING | ImportFlag.LAZY)
    edges = {
        (importer, edge.target): edge
        for importer in range(len(loading.modules))
        for edge in loading.edges_of(importer)
        if edge.target < len(loading.modules)
    }
    circles = _circles(edges)

    def chain(edge: Edge) -> tuple[str, ...]:
        way = _way_back(circles, edge.importer, edge.target)
        return (loading.render([edge, *(edges[pair] for pair in way)]),)

    for pair in circles:
        imported = loading.names[edges[pair].target]
        yield from violations(
            loading,
            edges[pair],
            rule="LAY204",
            subject=imported,
            message=f"imports `{imported}`, which leads back here while both are loading",
            hint="Move the import into the function that needs it, or move what both need into a third module.",
            chain=chain,
        )


def _children(within: str, graph: ImportGraph) -> Mapping[int, str]:
    """Module -> the direct child of the package that it is or lies below."""
    prefix = rf"{pattern_expression(within)}\." if within else ""
    child = re.compile(rf"{prefix}[^.]+")
    found = ((number, child.match(name)) for number, name in enumerate(graph.modules.names))
    return {number: match.group() for number, match in found if match}


def _circles(pairs: Collection[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
    """The pairs whose second leads back to their first, in the order given."""
    pairs = _without_loose_ends(pairs)
    if not pairs:
        return []
    import networkx as nx

    components: Iterator[set[Node]] = nx.strongly_connected_components(nx.DiGraph(pairs))
    component_of = {node: index for index, nodes in enumerate(components) for node in nodes}
    return [(first, second) for first, second in pairs if component_of[first] == component_of[second]]


def _without_loose_ends(pairs: Collection[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
    """Drop, again and again, what nothing leads to or what leads nowhere.

    Nothing is left of a graph without circles, so that a clean tree does not pay for importing networkx.
    """
    kept = list(pairs)
    while True:
        inner = {first for first, _ in kept} & {second for _, second in kept}
        rest = [(first, second) for first, second in kept if first in inner and second in inner]
        if len(rest) == len(kept):
            return rest
        kept = rest


def _way_back(circles: Sequence[tuple[Node, Node]], first: Node, second: Node) -> Iterator[tuple[Node, Node]]:
    import networkx as nx

    return pairwise(nx.shortest_path(nx.DiGraph(circles), second, first))
