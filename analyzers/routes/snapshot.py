"""Snapshots of the static plan: frozen, compared, and changed only as announced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct, ValidationError, convert

from analyzers.errors import UserError
from analyzers.routes.plan import Outcome, plan
from analyzers.routes.tables import TableReading

_VERSION = 1
_KIND = "static-plan"
_PARTS = re.compile(r" (?=[^\s=]+=)")
"""What is between the `axis=value` pairs of a cell's name; a value may hold blanks."""
Plans = Mapping[str, Mapping[str, Outcome]]
"""Table -> cell -> outcome."""


class Change(NamedTuple):
    """A cell whose outcome is another than in the snapshot."""

    table: str
    cell: str
    was: Outcome | None
    """None where the snapshot has no such cell."""
    now: Outcome | None
    """None where the matrix has no such cell any more."""


class Expectation(NamedTuple):
    """A change that is announced: for every cell of a table that has these values."""

    table: str
    where: Mapping[str, str]
    was: str | None
    now: str | None

    def covers(self, change: Change) -> bool:
        values = dict(part.split("=", 1) for part in _PARTS.split(change.cell))
        return (
            change.table == self.table
            and _route(change.was) == self.was
            and _route(change.now) == self.now
            and all(values.get(axis) == value for axis, value in self.where.items())
        )


class _StoredOutcome(Struct):
    route: str | None
    refused: dict[str, str] = {}


class _Stored(Struct):
    kind: Literal["static-plan"]
    version: Literal[1]
    tables: dict[str, dict[str, _StoredOutcome]]


class _StoredExpectation(Struct, forbid_unknown_fields=True):
    table: str
    where: dict[str, Any]
    was: str | None
    now: str | None


class Verdict(NamedTuple):
    """What came of comparing a snapshot with the plan of today."""

    unexpected: Sequence[Change]
    expected: Sequence[Change]
    idle: Sequence[Expectation]
    """Announced, and nothing of the kind has changed."""


def plans_of(readings: Sequence[TableReading]) -> Plans:
    """The plan of every table that has a matrix and an order."""
    return {reading.policy.name: plan(reading) for reading in readings if is_planned(reading)}


def is_planned(reading: TableReading) -> bool:
    return bool(reading.policy.matrix) and reading.policy.ordered


def render(plans: Plans) -> str:
    """The snapshot's text: one line a cell, in the order of the matrix."""
    lines = []
    for table, cells in plans.items():
        rows = [f"      {_json(cell)}: {_json(_stored(outcome))}" for cell, outcome in cells.items()]
        lines.append(f"    {_json(table)}: {{\n" + ",\n".join(rows) + "\n    }")
    head = f'{{\n  "kind": {_json(_KIND)},\n  "version": {_VERSION},\n  "tables": {{\n'
    return head + ",\n".join(lines) + "\n  }\n}\n"


def parse(text: str, name: str) -> Plans:
    """Read a snapshot. Raises UserError, which calls it by the given name."""
    try:
        stored = convert(_load(text, name), _Stored)
    except ValidationError as error:
        message = f"no snapshot of a static plan in version {_VERSION}; write it anew with --output"
        raise UserError(f"{name}: {message} ({error})") from None
    return {
        table: {cell: Outcome(row.route, tuple(row.refused.items())) for cell, row in cells.items()}
        for table, cells in stored.tables.items()
    }


def parse_expectations(text: str, name: str) -> list[Expectation]:
    """Read announced changes: a JSON list of objects with `table`, `where`, `was` and `now`. Raises UserError."""
    try:
        announced = convert(_load(text, name), list[_StoredExpectation])
    except ValidationError as error:
        message = f"must be a list of objects with `table`, `where`, `was` and `now`: {error}"
        raise UserError(f"{name}: {message}") from None
    return [
        Expectation(
            row.table,
            {axis: value if isinstance(value, str) else _json(value) for axis, value in row.where.items()},
            row.was,
            row.now,
        )
        for row in announced
    ]


def compare(was: Plans, now: Plans, expectations: Sequence[Expectation]) -> Verdict:
    """Every cell that changed, sorted by whether it was announced."""
    changes = list(_changes(was, now))
    expected = [change for change in changes if any(announced.covers(change) for announced in expectations)]
    idle = [announced for announced in expectations if not any(announced.covers(change) for change in changes)]
    return Verdict([change for change in changes if change not in expected], expected, idle)


def _changes(was: Plans, now: Plans) -> Iterator[Change]:
    for table in dict.fromkeys((*was, *now)):
        before, after = was.get(table, {}), now.get(table, {})
        for cell in dict.fromkeys((*before, *after)):
            if before.get(cell) != after.get(cell):
                yield Change(table, cell, before.get(cell), after.get(cell))


def _route(outcome: Outcome | None) -> str | None:
    return None if outcome is None else outcome.route


def _stored(outcome: Outcome) -> dict[str, Any]:
    return {"route": outcome.route, **({"refused": dict(outcome.refused)} if outcome.refused else {})}


def _load(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: not valid JSON: {error}") from None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
