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
    sources = graph.matching(contract.from_) & frozenset(range(len(graph.modules)))
    for pattern in contract.to:
        yield from _check_pattern(contract, pattern, sources, graph)


def _check_pattern(
    contract: ForbiddenContract, pattern: str, sources: frozenset[int], graph: ImportGraph
) -> Iterator[Finding]:
    targets = graph.matching([pattern])
    outside = frozenset(range(len(graph.modules))) - sources
    routes = routes_to(graph, targets, outside, graph.runners) if contract.indirect else Routes(graph, {})
    for importer in sorted(sources - targets):
        imported = graph.statements[importer]
        run = graph.running[importer] if contract.indirect else {target: target for target in imported}
        seen: set[int] = set()
        for target, written in run.items():
            if written not in seen and (target in targets or target in routes):
                seen.add(written)
                yield from _report(contract, pattern, Edge(importer, target, written), written in targets, routes)


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
