"""Where each key of a TOML text stands: `tomllib` reads the values but does not say on which line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

Key = tuple[str | int, ...]
"""A path into a TOML document: table and key names, and positions in arrays."""


def key_lines(text: str) -> dict[Key, int]:
    """The 1-based line on which each table and key of a valid TOML text first appears."""
    lines: dict[Key, int] = {}
    tables: dict[Key, int] = {}
    table: Key = ()
    for line, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _enter(parsed, tables)
            parsed = {}
        for depth in range(1, len(table) + 1):
            lines.setdefault(table[:depth], line)
        for key in _paths(parsed):
            lines.setdefault(table + key, line)
    return lines


def line_of(key: Key, lines: dict[Key, int]) -> int:
    """The line of a key, or of the nearest table around it that is written down; 0 when there is none."""
    return next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), 0)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Cut a valid TOML text into (first line, statement).

    A statement ends on the first line up to which it parses: one that spans several lines is an open bracket
    or an open string until then.
    """
    pending, start = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        start = start if pending else number
        pending += line + "\n"
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue
        yield start, pending
        pending = ""


def _enter(header: dict[str, Any], tables: dict[Key, int]) -> Key:
    """The path of the table that `[a.b]` or `[[a.b]]` opens; `tables` counts the elements of each array."""
    path: Key = ()
    value: Any = header
    while isinstance(value, dict) and value:
        (name, value), *_ = value.items()
        path += (name,)
        if isinstance(value, list):
            tables[path] = tables.get(path, 0) + 1
        if path in tables:
            path += (tables[path] - 1,)
    return path


def _paths(value: Any) -> Iterator[Key]:
    """Every path inside a parsed value."""
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return
    for part, inner in items:
        yield (part,)
        for rest in _paths(inner):
            yield (part, *rest)
