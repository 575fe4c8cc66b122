"""Snapshots of what the selectors choose: written, read, compared, and changed only as announced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from msgspec import Struct

from runtime.cli.snapshot.cells import Outcome
from runtime.documents import read_document
from runtime.errors import ConfigError, meant

KIND = "selector-snapshot"
VERSION = 1

Snapshot = Mapping[str, Mapping[str, Outcome]]
"""Category -> cell -> outcome."""

_AXES = re.compile(r" (?=[^\s=]+=)")
"""What is between the `axis=value` pairs of a cell's name; a value may hold blanks."""


class Change(NamedTuple):
    """A cell whose outcome is another; None is a cell that is not there."""

    category: str
    cell: str
    was: Outcome | None
    now: Outcome | None


class Expectation(NamedTuple):
    """A change of route that is announced for all cells of a category with these values."""

    category: str
    where: Mapping[str, str]
    was: str | None
    now: str | None

    def covers(self, change: Change) -> bool:
        values = axes_of(change.cell)
        routes = [None if outcome is None else outcome.route for outcome in (change.was, change.now)]
        return (
            change.category == self.category
            and routes == [self.was, self.now]
            and all(values.get(axis) == value for axis, value in self.where.items())
        )


def axes_of(cell: str) -> dict[str, str]:
    """The values of a cell by axis, from its name."""
    return dict(part.partition("=")[::2] for part in _AXES.split(cell))


def render(snapshot: Snapshot) -> str:
    """The text of a snapshot: one line a cell, so that a difference shows what changed."""
    blocks = []
    for category, cells in snapshot.items():
        rows = [f"      {_json(cell)}: {_json(_stored(outcome))}" for cell, outcome in cells.items()]
        blocks.append(f"    {_json(category)}: {{\n" + ",\n".join(rows) + "\n    }")
    head = f'{{\n  "kind": {_json(KIND)},\n  "version": {VERSION},\n  "categories": {{\n'
    return head + ",\n".join(blocks) + "\n  }\n}\n"


class _StoredOutcome(Struct, forbid_unknown_fields=True):
    route: str | None
    refused: dict[str, str] = {}
    runs: list[str] = []


class _Stored(Struct, forbid_unknown_fields=True):
    kind: Literal["selector-snapshot"]
    version: Literal[1]
    categories: dict[str, dict[str, _StoredOutcome]]


class _StoredExpectation(Struct, forbid_unknown_fields=True):
    category: str
    where: dict[str, str | int | bool | list[int]]
    was: str | None
    now: str | None


def read(path: Path) -> Snapshot:
    """Read a snapshot. Raises ConfigError where it is none."""
    stored = read_document(path, _Stored, f"{KIND} in version {VERSION}", "write it anew with --output", ConfigError)
    return {
        category: {cell: Outcome(row.route, tuple(row.refused.items()), tuple(row.runs)) for cell, row in cells.items()}
        for category, cells in stored.categories.items()
    }


def read_expectations(path: Path) -> list[Expectation]:
    """Read announced changes. Raises ConfigError where the file is no list of them."""
    remedy = "each is an object with `category`, `where`, `was` and `now`"
    stored = read_document(path, list[_StoredExpectation], "list of announced changes", remedy, ConfigError)
    return [
        Expectation(
            row.category,
            {axis: value if isinstance(value, str) else _json(value) for axis, value in row.where.items()},
            row.was,
            row.now,
        )
        for row in stored
    ]


def check_expectations(expected: Sequence[Expectation], snapshots: Sequence[Snapshot], path: Path) -> None:
    """Raise ConfigError where an announcement names a category, an axis or a value that no cell has."""
    for number, announced in enumerate(expected, 1):
        place = f"{path}: change {number}"
        cells = [cell for snapshot in snapshots for cell in snapshot.get(announced.category, {})]
        if not cells:
            known = list(dict.fromkeys(name for snapshot in snapshots for name in snapshot))
            _refuse(place, "category", announced.category, known)
        axes: dict[str, set[str]] = {}
        for cell in cells:
            for axis, value in axes_of(cell).items():
                axes.setdefault(axis, set()).add(value)
        for axis, value in announced.where.items():
            if axis not in axes:
                _refuse(f"{place}: where", "axis", axis, axes)
            if value not in axes[axis]:
                _refuse(f"{place}: where: {axis}", "value", value, sorted(axes[axis]))


def _refuse(place: str, noun: str, name: str, known: Iterable[str]) -> NoReturn:
    hint = meant(name, known, f"known: {', '.join(known)}")
    raise ConfigError(f"{place}: no cell has the {noun} {name!r}; {hint}")


def changes(was: Snapshot, now: Snapshot) -> Iterator[Change]:
    """Every cell that differs, in the categories of `now`."""
    for category, after in now.items():
        before = was.get(category, {})
        for cell in dict.fromkeys((*before, *after)):
            if before.get(cell) != after.get(cell):
                yield Change(category, cell, before.get(cell), after.get(cell))


def described(change: Change) -> str:
    """A change as a line, with the reasons that are new."""
    known = _refused(change.was)
    fresh = [f"{name}: {reason}" for name, reason in _refused(change.now) if (name, reason) not in known]
    told = f" ({'; '.join(fresh)})" if fresh else ""
    return f"{change.category}: {change.cell}: {_route(change.was)} -> {_route(change.now)}{told}"


def idle(expected: Sequence[Expectation], found: Sequence[Change]) -> list[Expectation]:
    """The announcements of which nothing came."""
    return [announced for announced in expected if not any(map(announced.covers, found))]


def _refused(outcome: Outcome | None) -> tuple[tuple[str, str], ...]:
    return outcome.refused if outcome else ()


def _route(outcome: Outcome | None) -> str:
    if outcome is None:
        return "no such cell"
    return "rejected" if outcome.route is None else outcome.route


def _stored(outcome: Outcome) -> dict[str, object]:
    stored: dict[str, object] = {"route": outcome.route}
    if outcome.refused:
        stored["refused"] = dict(outcome.refused)
    if outcome.runs:
        stored["runs"] = list(outcome.runs)
    return stored


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
