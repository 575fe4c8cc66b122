"""Everything that is wrong with a table: msgspec, which reads it, stops at the first mistake and knows no cure."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import ValidationError, convert
from msgspec.inspect import (
    BoolType,
    DateType,
    DictType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StrType,
    StructType,
    TupleType,
    Type,
    UnionType,
    VarTupleType,
)

from analyzers.nearest import nearest
from analyzers.policy import FAULT
from gates.settings.lines import Key

_FORMS: dict[type[Type], tuple[tuple[type, ...], str]] = {
    BoolType: ((bool,), "true or false"),
    DateType: ((datetime.date, str), "a date such as 2027-01-31"),
    DictType: ((dict,), "a table"),
    IntType: ((int,), "a whole number"),
    LiteralType: ((str,), "a string"),
    StrType: ((str,), "a string"),
    StructType: ((dict,), "a table"),
    TupleType: ((list,), "a list"),
    VarTupleType: ((list,), "a list"),
}
"""What TOML writes a value of each type as."""


class Complaint(NamedTuple):
    """What is wrong with the value at one key, below the root table."""

    key: Key
    message: str
    nearest: str = ""


def complaints(form: Type, value: Any, key: Key = ()) -> Iterator[Complaint]:
    """Everything about a parsed TOML value that does not fit a type.

    Args:
        form: the type, as `msgspec.inspect.type_info` describes it.
        value: the value.
        key: where it stands.
    """
    if isinstance(form, UnionType):
        yield from _of_union(form, value, key)
    elif isinstance(form, Metadata):
        yield from _of_annotated(form, value, key)
    elif not _fits(form, value):
        yield Complaint(key, _expected(value, form))
    elif isinstance(form, StructType):
        yield from _of_table(form, value, key)
    elif isinstance(form, VarTupleType):
        yield from _of_list(form, value, key)
    elif isinstance(form, TupleType):
        yield from _of_pair(form, value, key)
    elif isinstance(form, DictType):
        for part, inner in value.items():
            yield from complaints(form.value_type, inner, (*key, part))
    elif problem := _problem(form, value):
        yield Complaint(key, *problem)


def _fits(form: Type, value: Any) -> bool:
    """Whether the value is written as those of the type are; whether it may be what it is, is another question."""
    written, _ = _FORMS[type(form)]
    return isinstance(value, written) and isinstance(value, bool) == isinstance(form, BoolType)


def _of_union(form: UnionType, value: Any, key: Key) -> Iterator[Complaint]:
    members = [member for member in form.types if not isinstance(member, NoneType)]
    fitting = [member for member in members if _fits(_bare(member), value)]
    if fitting or len(members) == 1:
        yield from complaints((fitting or members)[0], value, key)
    else:
        yield Complaint(key, _expected(value, *map(_bare, members)))


def _bare(form: Type) -> Type:
    """The type without what is annotated."""
    return form.type if isinstance(form, Metadata) else form


def _of_annotated(form: Metadata, value: Any, key: Key) -> Iterator[Complaint]:
    found = list(complaints(form.type, value, key))
    fault = (form.extra or {})[FAULT]
    if not found and (message := fault(value)):
        found.append(Complaint(key, f"{message} (it is {value!r})"))
    yield from found


def _of_table(form: StructType, table: dict[str, Any], key: Key) -> Iterator[Complaint]:
    fields = {field.encode_name: field for field in form.fields}
    for name, field in fields.items():
        if name in table:
            yield from complaints(field.type, table[name], (*key, name))
        elif field.required:
            yield Complaint((*key, name), "is required")
    for word in table:
        if word not in fields:
            yield _unknown_key((*key, word), word, list(fields))


def _of_list(form: VarTupleType, values: list[Any], key: Key) -> Iterator[Complaint]:
    least = form.min_length or 0
    if len(values) < least:
        yield Complaint(key, f"needs at least {least} item{'s' * (least > 1)}, but has {len(values)}")
    for index, value in enumerate(values):
        yield from complaints(form.item_type, value, (*key, index))


def _of_pair(form: TupleType, values: list[Any], key: Key) -> Iterator[Complaint]:
    if len(values) != len(form.item_types):
        yield Complaint(key, f"needs {len(form.item_types)} items, but has {len(values)}")
    for index, (inner, value) in enumerate(zip(form.item_types, values, strict=False)):
        yield from complaints(inner, value, (*key, index))


def _problem(form: Type, value: Any) -> tuple[str, ...]:
    """What is wrong with a value that is written well, and what was probably meant; nothing if it is right."""
    match form:
        case LiteralType(values=choices) if value not in choices:
            return f"must be {_written(form)}, not {value!r}", nearest(value, map(str, choices))
        case StrType(min_length=least) if len(value) < (least or 0):
            return ("must not be empty",)
        case StrType(pattern=str(pattern)) if not re.search(pattern, value):
            return (f"should match the pattern `{pattern}` (it is {value!r})",)
        case IntType(gt=int(limit)) if value <= limit:
            return (f"should be greater than {limit} (it is {value!r})",)
        case DateType() if not _is_date(value):
            return (f"should be a valid date, such as 2027-01-31 (it is {_named(value)})",)
    return ()


def _is_date(value: str | datetime.date) -> bool:
    """Whether it is a day, and no moment."""
    try:
        convert(value, datetime.date)
    except ValidationError:
        return False
    return True


def _unknown_key(key: Key, word: str, valid: list[str]) -> Complaint:
    hyphenated = word.replace("_", "-")
    if hyphenated in valid:
        return Complaint(key, "unknown key: keys are written with hyphens", hyphenated)
    close = nearest(hyphenated, valid)
    return Complaint(key, "unknown key" if close else f"unknown key; this table has {', '.join(valid)}", close)


def _expected(value: object, *forms: Type) -> str:
    *others, last = map(_written, forms)
    wanted = f"{', '.join(others)} or {last}" if others else last
    return f"must be {wanted}, not {_named(value)}"


def _written(form: Type) -> str:
    """How a value of the type is written, as a person says it."""
    if isinstance(form, LiteralType):
        return " or ".join(map(json.dumps, form.values))
    return _FORMS[type(form)][1]


def _named(value: object) -> str:
    """A TOML value as a person names it."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "a table"
        case list():
            return "a list"
        case str():
            return f"the string {value!r}"
        case datetime.date() | datetime.time():
            return str(value)
        case _:
            return repr(value)
