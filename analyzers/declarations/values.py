"""What declared expressions mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct


class Place(Struct, frozen=True):
    """Where something is written."""

    path: str
    line: int
    column: int


class Record(Struct, frozen=True):
    """What a constructor of declared fields makes."""

    class_name: str
    """Dotted from its module's name on."""
    fields: tuple[tuple[str, Value], ...]
    """In the order in which the class declares them. A field that is missing is not there."""


class EnumMember(Struct, frozen=True):
    """A member of an enumeration. What `auto()` gives it is not known: then its value is its name."""

    class_name: str
    name: str
    value: Scalar


class Reference(Struct, frozen=True):
    """Something that has a name and is no data: a function, a class, a name of a module outside of the tree."""

    name: str


Scalar: TypeAlias = bool | int | float | str | None
Value: TypeAlias = Any
"""A Scalar, EnumMember, Reference or Record, or a tuple, frozenset or dict of values. Lists are read as tuples."""


def plain(value: Value) -> Any:
    """The value as JSON can hold it: a record by its first field, which names it; sets in order."""
    match value:
        case Record(fields=((_, first), *_)):
            return plain(first)
        case Record(class_name=name) | Reference(name=name):
            return name
        case EnumMember(value=inner):
            return inner
        case tuple():
            return [*map(plain, value)]
        case frozenset():
            return sorted(map(plain, value), key=lambda item: (str(type(item)), str(item)))
        case dict():
            return {text_of(key): plain(item) for key, item in value.items()}
    return value


def text_of(value: Value) -> str:
    """The value in words, as a person would write it."""
    shown = plain(value)
    if isinstance(shown, list):
        return ", ".join(map(text_of, shown))
    if isinstance(shown, dict):
        return ", ".join(f"{key}: {text_of(item)}" for key, item in shown.items())
    return str(shown)


def names_in(value: Value) -> Iterator[str]:
    """The strings that a value holds, itself included; a record counts as its name, a mapping as its keys."""
    match value:
        case tuple() | frozenset():
            for item in value:
                yield from names_in(item)
        case dict():
            for key in value:
                yield from names_in(key)
        case _:
            name = plain(value)
            if isinstance(name, str):
                yield name


def field_values(value: Value) -> Mapping[str, Value]:
    """The fields of a record; none for anything else."""
    return dict(value.fields) if isinstance(value, Record) else {}
