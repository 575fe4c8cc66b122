"""What import statements bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Binding(NamedTuple):
    """Where an imported name comes from."""

    level: int
    module: str
    name: str
    """Empty where the name is the module."""


def bindings(statement: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Each name that a statement imports, `*` for every one, and where it comes from."""
    if isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name, Binding(statement.level, statement.module or "", alias.name)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, Binding(0, alias.name if alias.asname else top, "")
