"""The debt as GitHub-flavoured Markdown, for an issue or a job summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzers.layering.debt import Debt, Matrix, Row
from reports.debt_wording import TOP, broken_directions, signed, total_sentence
from reports.markdown import code, escaped, table


def render(debt: Debt) -> str:
    return "\n\n".join(_blocks(debt)) + "\n"


def _blocks(debt: Debt) -> Iterator[str]:
    yield f"## Layering debt: {total_sentence(debt.total)}"
    for title, rows in (("Layer", debt.by_layer), ("Kind", debt.by_kind), ("File", debt.by_file)):
        if rows:
            yield f"### By {title.lower()}"
            yield _rows(title, rows)
        if len(rows) > TOP:
            yield f"and {len(rows) - TOP:,} more."
    for matrix in debt.matrices:
        if any(map(any, matrix.broken)):
            yield f"### Forbidden directions: {escaped(matrix.title)}"
            yield _directions(matrix)


def _rows(title: str, rows: Sequence[Row]) -> str:
    cells = ((code(row.name), f"{row.count:,}", signed(row.change)) for row in rows[:TOP])
    if rows[0].change is None:
        return table((title, "Findings"), (row[:2] for row in cells), "lr")
    return table((title, "Findings", "Change"), cells, "lrr")


def _directions(matrix: Matrix) -> str:
    rows = (
        (code(direction.importer), code(direction.imported), f"{direction.broken:,}", f"{direction.imports:,}")
        for direction in broken_directions(matrix)
    )
    return table(("Importer", "Imported", "Forbidden", "Imports"), rows, "llrr")
