"""The debt for a person at a terminal or in a plain log."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzers.layering.debt import Debt, Matrix, Row
from reports.debt_wording import TOP, broken_directions, signed, total_sentence
from reports.escaping import printable
from reports.terminal import WIDTH

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

BAR = 24
"""Cells of the longest bar."""


def render(debt: Debt, *, width: int = WIDTH, colour: bool = False) -> str:
    """The debt as text of at most `width` cells a line; long names are folded, never cut."""
    from rich.console import Console
    from rich.text import Text

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    console.print(Text(f"Layering debt: {total_sentence(debt.total)}", style="bold"))
    for title, rows in (("Layer", debt.by_layer), ("Kind", debt.by_kind), ("File", debt.by_file)):
        if rows:
            console.print(Text(), _rows(title, rows), sep="\n")
        if len(rows) > TOP:
            console.print(Text(f" and {len(rows) - TOP:,} more", style="dim"))
    for matrix in debt.matrices:
        if any(map(any, matrix.broken)):
            console.print(Text(), _directions(matrix), sep="\n")
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines())


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def _rows(title: str, rows: Sequence[Row]) -> Table:
    from rich.text import Text

    table = _table()
    table.add_column(title, overflow="fold")
    table.add_column("Findings", justify="right", no_wrap=True)
    if compared := rows[0].change is not None:
        table.add_column("Change", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="cyan")
    largest = max(row.count for row in rows) or 1
    for row in rows[:TOP]:
        bar = "█" * -(-row.count * BAR // largest)
        table.add_row(Text(printable(row.name)), f"{row.count:,}", *([_change(row)] if compared else []), bar)
    return table


def _change(row: Row) -> Text:
    from rich.text import Text

    change = row.change or 0
    return Text(signed(row.change), style="red" if change > 0 else "green" if change < 0 else "dim")


def _directions(matrix: Matrix) -> Table:
    from rich.text import Text

    table = _table()
    table.add_column(Text(f"Forbidden directions: {printable(matrix.title)}"), overflow="fold")
    table.add_column("Forbidden", justify="right", no_wrap=True, style="red")
    table.add_column("Imports", justify="right", no_wrap=True)
    for direction in broken_directions(matrix):
        name = printable(f"{direction.importer} -> {direction.imported}")
        table.add_row(Text(name), f"{direction.broken:,}", f"{direction.imports:,}")
    return table
