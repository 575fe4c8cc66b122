"""Snapshots of what the selectors choose: written, read, compared, and changed only as announced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runtime.cli.snapshot.cells import Outcome
from runtime.errors import ConfigError

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
        values = dict(part.split("=", 1) for part in _AXES.split(change.cell))
        routes = [None if outcome is None else outcome.route for outcome in (change.was, change.now)]
        return (
            change.category == self.category
            and routes == [self.was, self.now]
            and all(values.get(axis) == value for axis, value in self.where.items())
        )


def render(snapshot: Snapshot) -> str:
    """The text of a snapshot: one line a cell, so that a difference shows what changed."""
    blocks = []
    for category, cells in snapshot.items():
        rows = [f"      {_json(cell)}: {_json(_stored(outcome))}" for cell, outcome in cells.items()]
        blocks.append(f"    {_json(category)}: {{\n" + ",\n".join(rows) + "\n    }")
    head = f'{{\n  "kind": {_json(KIND)},\n  "version": {VERSION},\n  "categories": {{\n'
    return head + ",\n".join(blocks) + "\n  }\n}\n"


def read(path: Path) -> Snapshot:
    """Read a snapshot. Raises ConfigError where it is none."""
    stored = read_json(path)
    if not isinstance(stored, dict) or (stored.get("kind"), stored.get("version")) != (KIND, VERSION):
        raise ConfigError(f"{path}: no {KIND} in version {VERSION}; write it anew with --output")
    try:
        return {
            category: {cell: _outcome(row) for cell, row in cells.items()}
            for category, cells in stored["categories"].items()
        }
    except (AttributeError, KeyError, TypeError):
        raise ConfigError(f"{path}: its categories are not those of a {KIND}; write it anew with --output") from None


def read_expectations(path: Path) -> list[Expectation]:
    """Read announced changes. Raises ConfigError where the file is no list of them."""
    try:
        return [
            Expectation(
                row["category"],
                {axis: value if isinstance(value, str) else _json(value) for axis, value in row["where"].items()},
                row["was"],
                row["now"],
            )
            for row in read_json(path)
        ]
    except (AttributeError, KeyError, TypeError):
        raise ConfigError(f"{path}: must be a list of objects with `category`, `where`, `was` and `now`") from None


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


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises ConfigError where it is none."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid JSON: {error}") from None


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


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(row["route"], tuple(row.get("refused", {}).items()), tuple(row.get("runs", ())))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
