"""Path x format x shape: which values of each axis a declared route takes.

Every condition looks at one axis, so what a route takes is the product of what it takes on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.routes.admission import refusals
from analyzers.routes.plan import choice_text, plan
from analyzers.routes.policy import Choice
from analyzers.routes.tables import Route, TableReading


def matrix(readings: Sequence[TableReading]) -> list[dict[str, Any]]:
    """For each table with a matrix its name, its axes, and its rows, one for every route and format that it takes."""
    return [
        {"table": reading.policy.name, "axes": list(reading.policy.matrix), "rows": [*_rows(reading)]}
        for reading in readings
        if reading.policy.matrix
    ]


def _rows(reading: TableReading) -> Iterator[dict[str, Any]]:
    policy = reading.policy
    chosen: dict[str, int] = {}
    for outcome in plan(reading).values() if policy.ordered else ():
        chosen[outcome.route or ""] = chosen.get(outcome.route or "", 0) + 1
    for route in reading.candidates:
        taken = {axis: _taken(reading, route, axis, values) for axis, values in policy.matrix.items()}
        required = [condition for condition in policy.conditions if condition.test == "required"]
        lacking = list(refusals(route, required, {}))
        for format_ in taken[policy.format] if policy.format else (None,):
            shown = taken if format_ is None else {**taken, str(policy.format): [format_]}
            yield {
                "route": route.name,
                "takes": shown,
                "lacks": lacking,
                "chosen": chosen.get(route.name, 0) if policy.ordered else None,
            }


def _taken(reading: TableReading, route: Route, axis: str, values: Sequence[Choice]) -> list[str]:
    """The values of one axis that a route takes."""
    asking = [condition for condition in reading.policy.conditions if condition.asks == axis]
    cells: list[Mapping[str, Choice]] = [{axis: value} for value in values]
    return [choice_text(cell[axis]) for cell in cells if next(refusals(route, asking, cell), None) is None]
