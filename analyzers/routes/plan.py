"""The static plan: the declared route that each call of a matrix would get, from the declarations alone.

A plan says nothing of what exists or runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from msgspec import Struct

from analyzers.routes.admission import Cell, refusals
from analyzers.routes.policy import Choice
from analyzers.routes.tables import Route, TableReading

LARGEST = 100_000
"""Cells of a matrix that is still planned."""


class Outcome(Struct, frozen=True):
    """What becomes of one call."""

    route: str | None
    """The route that it would get; None where no route takes it."""
    refused: tuple[tuple[str, str], ...]
    """The candidates before that, each with the field because of which it is refused."""


def size(matrix: Mapping[str, Sequence[Choice]]) -> int:
    return prod(map(len, matrix.values()))


def cells(matrix: Mapping[str, Sequence[Choice]]) -> Iterator[Cell]:
    """Every combination of the values of the axes, the last axis changing fastest."""
    for values in product(*matrix.values()):
        yield dict(zip(matrix, values, strict=True))


def cell_name(cell: Cell) -> str:
    """`stage=decode codec=fp16 rows=[1, 16] window=false`: what a snapshot calls a cell."""
    return " ".join(f"{axis}={choice_text(choice)}" for axis, choice in cell.items())


def choice_text(choice: Choice) -> str:
    """A value of an axis, as TOML and JSON write it but for the quotes of a text."""
    if isinstance(choice, bool):
        return "true" if choice else "false"
    return f"[{', '.join(map(str, choice))}]" if isinstance(choice, tuple) else str(choice)


def plan(reading: TableReading) -> dict[str, Outcome]:
    """The outcome of every cell of a table's matrix, by the name of the cell."""
    return {cell_name(cell): outcome(reading, cell) for cell in cells(reading.policy.matrix)}


def outcome(reading: TableReading, cell: Cell) -> Outcome:
    """What becomes of one call: the first candidate that takes it runs it."""
    refused: list[tuple[str, str]] = []
    for route in candidates(reading, cell):
        reason = next(refusals(route, reading.policy.conditions, cell), None)
        if reason is None:
            return Outcome(route.name, tuple(refused))
        refused.append((route.name, reason))
    return Outcome(None, tuple(refused))


def candidates(reading: TableReading, cell: Cell) -> Iterator[Route]:
    """The routes that serve the stage of a call, in order of declaration."""
    policy = reading.policy
    for route in reading.candidates:
        stage = [condition for condition in policy.conditions if condition.field == policy.stage]
        if next(refusals(route, stage, cell), None) is None:
            yield route
