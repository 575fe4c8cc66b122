"""A finding that sits on an import statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from analyzers.finding import Finding
from analyzers.layering.graph import Edge, ImportGraph


def violations(
    graph: ImportGraph,
    edge: Edge,
    *,
    rule: str,
    subject: str,
    message: str,
    hint: str,
    chain: Callable[[Edge], tuple[str, ...]] | None = None,
) -> Iterator[Finding]:
    """One finding for every statement behind an edge; `chain` is called only when somebody looks at it."""
    path = graph.modules.paths[edge.importer]
    for index, statement in enumerate(graph.sites(edge.importer, edge.written)):
        yield Finding(
            rule=rule,
            path=path,
            line=statement.line,
            column=statement.column,
            symbol=graph.facts[path].symbol_name(statement.symbol),
            subject=subject,
            message=message,
            hint=hint,
            trace=None if chain is None else partial(chain, replace(edge, statement=index)),
        )
