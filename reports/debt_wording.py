"""What the debt reports for people say alike."""

from __future__ import annotations

from typing import NamedTuple

from analyzers.layering.debt import Matrix, Row
from reports.wording import plural

TOP = 25
"""Files listed where a longer table would bury the rest; the JSON and HTML reports list them all."""


class Direction(NamedTuple):
    """One name importing another, against the contract at least once."""

    importer: str
    imported: str
    broken: int
    imports: int


def broken_directions(matrix: Matrix) -> list[Direction]:
    """The directions that break the contract, largest first."""
    names = matrix.names
    found = [
        Direction(names[i], names[j], broken, matrix.imports[i][j])
        for i, row in enumerate(matrix.broken)
        for j, broken in enumerate(row)
        if broken
    ]
    return sorted(found, key=lambda direction: (-direction.broken, direction))


def total_sentence(total: Row) -> str:
    """For example `1,204 findings, 16 fewer than the base`."""
    return ", ".join(filter(None, (plural(total.count, "finding"), trend(total))))


def trend(row: Row) -> str:
    """How a count compares with the base; empty when there is none."""
    match row.change:
        case None:
            return ""
        case 0:
            return "as many as the base"
        case change if change > 0:
            return f"{change:,} more than the base"
        case change:
            return f"{-change:,} fewer than the base"


def signed(change: int | None) -> str:
    """`+3`, `-12`, `0`, or nothing without a base."""
    return "" if change is None else f"{change:+,}" if change else "0"
