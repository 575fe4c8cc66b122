"""The record of one Python file, as it is cached and as the layering analyser reads it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import IntFlag
from functools import cached_property
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
    """What one statement, call or table entry takes from one module.

    `import a.b, c` gives an import for each of the two, which names nothing and stands where the module's name does.
    `from ..x import (y, z as w)` has the module "x", the names "y" and "z" and the level 2, and stands at its `from`;
    a star import has the name "*". A LAZY one of level 0 may be relative to the file's folder or absolute.
    """

    module: str
    names: list[str]
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
    origin: str
    """The absolute module that the owner is, or that it is an attribute of a name from; empty where it is neither."""


_KINDS = {"f": "function", "c": "class"}
_SEPARATOR = ";"
"""Stands in no dotted name."""


class _SymbolColumns(NamedTuple):
    """The symbols of a file. Few of the last lines are looked at, so they stay texts."""

    names: list[str]
    kinds: str
    first_lines: list[int]
    last_lines: list[str]


class PythonFacts:
    """What one Python file says on its own. Lines and columns are 1-based, columns in characters.

    It keeps what JSON stores and makes records of it when somebody asks: a run looks at the clauses of every file,
    and at the places, symbols and private accesses of few.
    """

    def __init__(self, stored: Sequence[Any]) -> None:
        self.stored = stored
        """The fact as JSON can hold it; what `json.loads` makes of that is as good. Symbols and imports are stored in
        columns, each of them one text without a character that JSON escapes: that loads three times as fast as lists,
        and most columns are never taken apart."""

    @classmethod
    def of(
        cls, lines: int, symbols: Sequence[Symbol], imports: Sequence[Import], private: Sequence[PrivateAccess]
    ) -> Self:
        symbol_columns = (
            _SEPARATOR.join(symbol.name for symbol in symbols),
            "".join(symbol.kind[0] for symbol in symbols),
            _column(symbol.line for symbol in symbols),
            _column(symbol.end_line for symbol in symbols),
        )
        import_columns = (
            _SEPARATOR.join(f"{row.level} {row.flags} {row.module} {' '.join(row.names)}" for row in imports),
            _column(row.line for row in imports),
            _column(row.column for row in imports),
            _column(row.symbol for row in imports),
        )
        return cls((lines, symbol_columns, import_columns, private))

    @property
    def lines(self) -> int:
        lines: int = self.stored[0]
        return lines

    @cached_property
    def symbols(self) -> list[Symbol]:
        """In order of their first lines."""
        names, kinds, first_lines, last_lines = self._symbols
        return list(map(Symbol, names, map(_KINDS.__getitem__, kinds), first_lines, map(int, last_lines)))

    @property
    def has_class(self) -> bool:
        """Whether one of the symbols is a class."""
        return "c" in self.stored[1][1]

    @cached_property
    def imports(self) -> list[Import]:
        """In order of their places."""
        return [self._import(index, clause) for index, clause in enumerate(self.clauses)]

    @cached_property
    def private(self) -> list[PrivateAccess]:
        """In order of their places."""
        return [PrivateAccess(*row) for row in self.stored[3]]

    @cached_property
    def clauses(self) -> list[str]:
        """What the imports say, in order of their places, each as one text that `read_clause` reads. A clause is all of
        an `Import` but its place: equal ones in one folder lead to the same.
        """
        text: str = self.stored[2][0]
        return text.split(_SEPARATOR) if text else []

    @property
    def import_flags(self) -> list[int]:
        """The flags of the imports."""
        return [int(clause.split(" ", 2)[1]) for clause in self.clauses]

    @property
    def import_words(self) -> list[str]:
        """The words of the clauses, numbers included."""
        text: str = self.stored[2][0]
        return text.replace(_SEPARATOR, " ").split()

    def import_at(self, index: int) -> Import:
        """One of the imports."""
        return self._import(index, self.clauses[index])

    def _import(self, index: int, clause: str) -> Import:
        line, column, symbol = (int(numbers[index]) for numbers in self._import_places)
        level, flags, module, names = read_clause(clause)
        return Import(module, names.split(), level, line, column, symbol, flags)

    def symbol_name(self, index: int) -> str:
        """The dotted name of a symbol; empty at module level."""
        return self._symbols.names[index] if index >= 0 else ""

    def symbol_around(self, line: int) -> str:
        """The dotted name of the innermost symbol around a line; empty at module level."""
        names, _, first_lines, last_lines = self._symbols
        index = bisect_right(first_lines, line) - 1
        while index >= 0 and int(last_lines[index]) < line:
            index -= 1
        return names[index] if index >= 0 else ""

    @cached_property
    def _symbols(self) -> _SymbolColumns:
        names, kinds, first_lines, last_lines = self.stored[1]
        return _SymbolColumns(names.split(_SEPARATOR), kinds, list(map(int, first_lines.split())), last_lines.split())

    @cached_property
    def _import_places(self) -> list[list[str]]:
        """Lines, columns and symbols of the imports."""
        return [numbers.split() for numbers in self.stored[2][1:]]


def _column(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def read_clause(text: str) -> tuple[int, int, str, str]:
    """Level, flags, module and names of one of `PythonFacts.clauses`; the names are separated by spaces."""
    level, flags, module, names = text.split(" ", 3)
    return int(level), int(flags), module, names
