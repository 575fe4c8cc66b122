"""LAY005: modules that only some others may import."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.finding import Finding
from analyzers.layering.graph import ImportGraph
from analyzers.layering.policy import ProtectedContract
from analyzers.layering.violation import violations


def check_protected(contract: ProtectedContract, graph: ImportGraph) -> Iterator[Finding]:
    """Report every direct import of a protected module by one that is neither listed nor protected itself."""
    protected = graph.matching(contract.modules)
    allowed = graph.matching(contract.importers) | protected
    hint = f"Import it through {_either(contract.importers)}." if contract.importers else "Do not import it."
    for importer in range(len(graph.modules)):
        if importer in allowed:
            continue
        for edge in graph.edges_of(importer):
            if edge.target in protected:
                imported = graph.names[edge.target]
                yield from violations(
                    graph,
                    edge,
                    rule="LAY005",
                    subject=f"{contract.name}: {imported}",
                    message=f"imports `{imported}`, which the contract `{contract.name}` protects",
                    hint=hint,
                )


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(f"`{name}`" for name in names)
