"""The inventory of routes and native operators, and the matrix of routes, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.markdown import code, escaped, table


def render_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def inventory_markdown(inventory: Mapping[str, Any]) -> str:
    """One table each of routes, operators and call sites, and of what could not be read, if anything."""
    return "\n\n".join(_inventory(inventory)) + "\n"


def matrix_markdown(tables: Sequence[Mapping[str, Any]]) -> str:
    """One table for each table of routes: a row for each path and format, a column for each axis of the shape."""
    return "\n\n".join(block for entry in tables for block in _matrix(entry)) + "\n"


def _inventory(inventory: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Inventory of routes\n\nEvidence: {escaped(inventory['evidence'])}."
    yield "## Routes"
    yield _table(
        ("Table", "Path", "Stage", "Parameters", "Operators", "Source"),
        [
            (row["table"], row["name"], row["stage"], _parameters(row), ", ".join(row["operators"]), _place(row))
            for row in inventory["routes"]
        ],
    )
    yield "## Native operators"
    yield _table(
        ("Operator", "Schema", "Fake", "Probe", "Implementations", "Source"),
        [
            (row["operator"], row["schema"], _yes(row["fake"]), _yes(row["probe"]), _implementations(row), _place(row))
            for row in inventory["operators"]
        ],
    )
    yield "## Native call sites"
    yield _table(
        ("Operator", "Arguments", "Under", "Scope", "Source"),
        [
            (row["operator"], ", ".join(row["arguments"]), _conditions(row["conditions"]), row["symbol"], _place(row))
            for row in inventory["call_sites"]
        ],
    )
    if inventory["unread"]:
        yield "## Not read\n\nThe tables above may lack what stands here."
        yield _table(("Source", "Why"), [(_place(row), row["message"]) for row in inventory["unread"]])


def _matrix(entry: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {escaped(entry['table'])}"
    yield "A static plan: what the declarations admit, whatever exists or runs."
    counted = any(row["chosen"] is not None for row in entry["rows"])
    rows = [
        (
            row["route"],
            *(", ".join(row["takes"][axis]) or "none" for axis in entry["axes"]),
            ", ".join(row["lacks"]),
            *((str(row["chosen"]),) if counted else ()),
        )
        for row in entry["rows"]
    ]
    yield _table(("Path", *entry["axes"], "Lacks", *(("Chosen",) if counted else ())), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "None."
    cells = (tuple(code(cell) if cell else "" for cell in row) for row in rows)
    return table(tuple(map(escaped, head)), cells, "l" * len(head))


def _parameters(route: Mapping[str, Any]) -> str:
    """What the route declares, but for what is empty."""
    shown = {name: value for name, value in route["parameters"].items() if value not in (None, [], {})}
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in shown.items())


def _implementations(operator: Mapping[str, Any]) -> str:
    rows = operator["implementations"]
    return ", ".join(f"{row['key']}: {row['function']}" if row["key"] else str(row["function"]) for row in rows)


def _conditions(conditions: Sequence[str]) -> str:
    return " and ".join(f"({condition})" if len(conditions) > 1 else condition for condition in conditions)


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['path']}:{row['line']}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
