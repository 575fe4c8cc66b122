"""The outline of one file: classes with their fields and methods, names and where they come from, tables, globals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from analyzers.python.bindings import Binding
from analyzers.source import Source

_VERSION = 4
"""Goes up whenever the same text may give other facts."""


class TypeName(NamedTuple):
    """One type that an annotation names."""

    name: str
    """Dotted, as it is written."""
    many: bool
    """The value holds any number of instances, as a list does."""


class FieldFact(NamedTuple):
    """An attribute that a class body declares."""

    name: str
    line: int
    column: int
    annotation: str
    types: list[TypeName]
    value: str
    """The expression that is assigned; empty where there is none."""
    call: str
    """Dotted name of the function, where a call is assigned."""
    arguments: list[str]
    """The call's positional arguments."""
    keywords: dict[str, str]
    """The keyword arguments of the call and of the calls in `Annotated[...]`, `metadata` unfolded, as written."""
    end_line: int


class MethodFact(NamedTuple):
    """A method of a class."""

    name: str
    line: int
    decorators: list[str]
    returns: list[TypeName]
    uses: list[str]
    """Attributes of `self`, and string literals."""
    whole: bool
    """Whether it hands on or walks through all of `self`."""
    assigned: list[tuple[str, int, int]]
    """Attributes of `self` that it assigns, each with the first and last line of the statement."""


class ClassFact(NamedTuple):
    """A class, also one within a class."""

    name: str
    """Dotted from the module."""
    line: int
    column: int
    bases: list[str]
    decorators: list[str]
    frozen: bool
    environment_prefix: str
    """`env_prefix` of a pydantic settings class."""
    fields: list[FieldFact]
    methods: list[MethodFact]


class GlobalFact(NamedTuple):
    """A name at module level that changes while the program runs."""

    name: str
    line: int
    column: int
    how: str
    """What makes it mutable."""


class RecordFact(NamedTuple):
    """One entry of a table."""

    key: str
    """The key where the table is a mapping and the key a string."""
    value: str
    """The string, where the entry is one."""
    line: int
    column: int
    arguments: dict[str, str]
    """The keyword arguments of the entry's constructor: strings by their value, others as they are written."""


class Outline(Struct, frozen=True, dict=True):
    """What one file defines, as JSON stores it."""

    stored: Sequence[Any]

    @property
    def is_read(self) -> bool:
        """False where the file does not parse."""
        return bool(self.stored)

    @cached_property
    def imports(self) -> dict[str, Binding]:
        return {name: Binding(*row) for name, row in self.stored[0].items()} if self.stored else {}

    @cached_property
    def stars(self) -> list[Binding]:
        return [Binding(*row) for row in self.stored[1]] if self.stored else []

    @cached_property
    def classes(self) -> dict[str, ClassFact]:
        return {row[0]: _class(row) for row in self.stored[2]} if self.stored else {}

    @cached_property
    def functions(self) -> dict[str, list[TypeName]]:
        """Name of a function of the module -> what it says that it returns."""
        return {name: _types(types) for name, types in self.stored[3].items()} if self.stored else {}

    @cached_property
    def aliases(self) -> dict[str, list[TypeName]]:
        """Name that stands for other types -> those."""
        return {name: _types(types) for name, types in self.stored[4].items()} if self.stored else {}

    @property
    def mutable_globals(self) -> list[GlobalFact]:
        return [GlobalFact(*row) for row in self.stored[5]] if self.stored else []

    @cached_property
    def tables(self) -> dict[str, list[RecordFact]]:
        return (
            {name: [RecordFact(*row) for row in rows] for name, rows in self.stored[6].items()} if self.stored else {}
        )


class OutlineExtractor(Struct, frozen=True):
    """Reads the outline of a Python file; it depends on no setting."""

    kind: str = f"outline@{_VERSION}"

    def extract(self, source: Source) -> Sequence[Any]:
        """The file's outline, as `Outline` stores it; empty where it does not parse or is nested too deeply."""
        from analyzers.configuration.outline_reader import read_outline
        from analyzers.python.parsing import parse_module

        module = parse_module(source.text)
        try:
            return () if module is None else read_outline(module, source.text)
        except RecursionError:
            return ()


def _types(rows: Sequence[Sequence[Any]]) -> list[TypeName]:
    return [TypeName(*row) for row in rows]


def _class(row: Sequence[Any]) -> ClassFact:
    fields = [FieldFact._make((*field[:4], _types(field[4]), *field[5:])) for field in row[7]]
    methods = [MethodFact._make((*method[:3], _types(method[3]), *method[4:])) for method in row[8]]
    return ClassFact._make((*row[:7], fields, methods))
