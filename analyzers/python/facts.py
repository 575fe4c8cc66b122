"""The record of one Python file, as it is cached and as the layering analyser reads it."""

from __future__ import annotations

from enum import IntFlag
from typing import Any, NamedTuple, Self


class ImportFlag(IntFlag):
    """How an import statement stands in its file."""

    DEFERRED = 1
    """Inside a function: runs when it is called."""
    TYPE_CHECKING = 2
    """Under `if TYPE_CHECKING:`: never runs."""
    GUARDED = 4
    """Inside a `try` that has handlers: may fail without harm."""
    DYNAMIC = 8
    """`importlib.import_module("literal")` or `__import__("literal")`."""
    LAZY = 16
    """An entry of a lazy-import string table: it counts only where it resolves to a module."""


class Import(NamedTuple):
    """One imported name. `import a.b` has module "a.b" and no name; `from ..x import y` module "x", name "y",
    level 2; a star import the name "*". It stands where its name does, which need not be where its statement starts;
    a LAZY one of level 0 may be relative to the file's folder or absolute."""

    module: str
    name: str
    level: int
    line: int
    column: int
    symbol: int
    """Index into `PythonFacts.symbols` of the enclosing function or class; -1 at module level."""
    flags: int


class Symbol(NamedTuple):
    """A function or class. `name` is dotted from the module (`Class.method.inner`)."""

    name: str
    kind: str
    """"function" or "class"."""
    line: int
    """The line of `def` or `class`, not of a decorator."""
    end_line: int
    """Last line of its last statement."""


class PrivateAccess(NamedTuple):
    """`owner._name` where this file does not itself define `_name`."""

    owner: str
    name: str
    line: int
    column: int
    symbol: int


class PythonFacts(NamedTuple):
    """What one Python file says on its own. Lines and columns are 1-based, columns in characters."""

    lines: int
    symbols: list[Symbol]
    imports: list[Import]
    private: list[PrivateAccess]

    def symbol_name(self, index: int) -> str:
        return self.symbols[index].name if index >= 0 else ""

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Rebuild from what `json.loads` gives for a dumped record."""
        lines, symbols, imports, private = value
        return cls(
            lines,
            [Symbol(*row) for row in symbols],
            [Import(*row) for row in imports],
            [PrivateAccess(*row) for row in private],
        )
