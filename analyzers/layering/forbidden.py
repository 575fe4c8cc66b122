"""LAY003: modules that must not reach certain others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analyzers.finding import Finding
from analyzers.layering.graph import Edge, ImportGraph, routes_to
from analyzers.layering.policy import ForbiddenContract
from analyzers.layering.violation import violations

_HINT = "Remove the import, or move the code that needs it to a module that may have it."


def check_forbidden(contract: ForbiddenContract, graph: ImportGraph) -> Iterator[Finding]:
    """Report every import by which a module of `from` reaches one of `to`.

    An indirect way is reported where it leaves the modules of `from` for the last time: with those imports gone,
    no way is left. Importing `a.b` runs `a`, so what `a` imports is reached as well.
    """
    sources = graph.matching(contract.from_)
    excepted = _excepted_pairs(contract, graph)
    edges_to: Sequence[Iterable[Edge]] = graph.running_edges_to if contract.indirect else ()
    if excepted:
        edges_to = [[edge for edge in edges if not _is_excepted(edge, excepted)] for edges in edges_to]
    for pattern in contract.to:
        yield from _check_pattern(contract, pattern, sources, excepted, edges_to, graph)


def _check_pattern(
    contract: ForbiddenContract,
    pattern: str,
    sources: frozenset[int],
    excepted: frozenset[tuple[int, int]],
    edges_to: Sequence[Iterable[Edge]],
    graph: ImportGraph,
) -> Iterator[Finding]:
    targets = graph.matching([pattern])
    outside = frozenset(range(len(graph.modules))) - sources
    routes = routes_to(graph, targets if contract.indirect else (), outside, edges_to)
    edges_of = graph.running_edges_of if contract.indirect else graph.edges_of
    for importer in sorted(sources - targets):
        seen: set[int] = set()
        for edge in edges_of(importer):
            forbidden = edge.target in targets or edge.target in routes
            if not forbidden or edge.written in seen or _is_excepted(edge, excepted):
                continue
            seen.add(edge.written)
            imported = graph.names[edge.written]
            direct = edge.written in targets
            yield from violations(
                graph,
                edge,
                rule="LAY003",
                subject=f"{contract.name}: {imported}" + ("" if direct else f" -> {pattern}"),
                message=f"imports `{imported}`, "
                + ("which" if direct else f"which reaches `{pattern}`, which")
                + f" the contract `{contract.name}` forbids here",
                hint=_HINT,
                chain=routes.chain,
            )


def _excepted_pairs(contract: ForbiddenContract, graph: ImportGraph) -> frozenset[tuple[int, int]]:
    pairs = [(graph.matching([importer]), graph.matching([imported])) for importer, imported in contract.except_]
    return frozenset(
        (importer, edge.target)
        for importers, imported in pairs
        for importer in importers
        if importer < len(graph.modules)
        for edge in graph.running_edges_of(importer)
        if edge.target in imported
    )


def _is_excepted(edge: Edge, excepted: frozenset[tuple[int, int]]) -> bool:
    return (edge.importer, edge.target) in excepted or (edge.importer, edge.written) in excepted
