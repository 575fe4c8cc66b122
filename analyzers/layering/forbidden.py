"""LAY003: modules that must not reach certain others."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.finding import Finding
from analyzers.layering.graph import Edge, ImportGraph, Routes, routes_to
from analyzers.layering.policy import ForbiddenContract
from analyzers.layering.violation import violations

_HINT = "Remove the import, or move the code that needs it to a module that may have it."


def check_forbidden(contract: ForbiddenContract, graph: ImportGraph) -> Iterator[Finding]:
    """Report every import by which a module of `from` reaches one of `to`.

    An indirect way is reported where it leaves the modules of `from` for the last time: with those imports gone,
    no way is left. Importing `a.b` runs `a`, so what `a` imports is reached as well.
    """
    for importers, imported in contract.except_:
        graph = graph.without_imports(graph.matching([importers]), graph.matching([imported]))
    sources = graph.matching(contract.from_)
    for pattern in contract.to:
        yield from _check_pattern(contract, pattern, sources, graph)


def _check_pattern(
    contract: ForbiddenContract, pattern: str, sources: frozenset[int], graph: ImportGraph
) -> Iterator[Finding]:
    targets = graph.matching([pattern])
    outside = frozenset(range(len(graph.modules))) - sources
    routes = routes_to(graph, targets, outside, graph.runners) if contract.indirect else Routes(graph, {})
    edges_of = graph.running_edges_of if contract.indirect else graph.edges_of
    for importer in sorted(sources - targets):
        seen: set[int] = set()
        for edge in edges_of(importer):
            if edge.written not in seen and (edge.target in targets or edge.target in routes):
                seen.add(edge.written)
                yield from _report(contract, pattern, edge, edge.written in targets, routes)


def _report(contract: ForbiddenContract, pattern: str, edge: Edge, direct: bool, routes: Routes) -> Iterator[Finding]:
    imported = routes.graph.names[edge.written]
    return violations(
        routes.graph,
        edge,
        rule="LAY003",
        subject=f"{contract.name}: {imported}" + ("" if direct else f" -> {pattern}"),
        message=f"imports `{imported}`, "
        + ("which" if direct else f"which reaches `{pattern}`, which")
        + f" the contract `{contract.name}` forbids here",
        hint=_HINT,
        chain=routes.chain,
    )
