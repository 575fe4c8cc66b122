"""From a parsed TOML table to `Settings`, or to the list of everything that is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ValidationError

from analyzers.nearest import nearest
from gates.settings.lines import Key
from gates.settings.model import Settings, settings_model

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "bool_type": "true or false",
    "date_type": "a date such as 2027-01-31",
    "dict_type": "a table",
    "int_type": "a whole number",
    "model_type": "a table",
    "string_type": "a string",
    "tuple_type": "a list",
}


class Complaint(NamedTuple):
    """What is wrong with the value at one key, below the root table."""

    key: Key
    message: str
    nearest: str = ""


class InvalidSettingsError(Exception):
    """The table does not say what settings can say."""

    def __init__(self, complaints: list[Complaint]) -> None:
        self.complaints = complaints
        super().__init__(complaints)


def validate(table: dict[str, Any], codes: Collection[str] | None) -> Settings:
    """Read the root table strictly: no value is coerced, keys have hyphens, waivers name known rules.

    Raises InvalidSettingsError with everything that is wrong.
    """
    if unreadable := list(_null_characters(table)):
        raise InvalidSettingsError(unreadable)
    model = settings_model(table)
    try:
        settings = model.model_validate_json(json.dumps(table, default=str), strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        complaints = [_complaint(details, model) for details in error.errors(include_url=False)]
        raise InvalidSettingsError(complaints) from None
    if codes is not None and (unknown := list(_unknown_rules(settings, codes))):
        raise InvalidSettingsError(unknown)
    return settings


def _null_characters(value: Any, key: Key = ()) -> Iterator[Complaint]:
    """A complaint for each string, or name of a table, with a character that no path or name can hold."""
    if isinstance(value, str) and "\0" in value:
        yield Complaint(key, "must not hold a NUL character")
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        if isinstance(part, str) and "\0" in part:
            yield Complaint(key, "a key must not hold a NUL character")
        yield from _null_characters(inner, (*key, part))


def _unknown_rules(settings: Settings, codes: Collection[str]) -> Iterator[Complaint]:
    """A complaint for each waiver of a rule that does not exist."""
    for position, waiver in enumerate(settings.waivers):
        if waiver.rule not in codes:
            message = f"there is no rule {waiver.rule!r}"
            yield Complaint(("waivers", position, "rule"), message, nearest(waiver.rule.upper(), codes))


def _complaint(details: ErrorDetails, model: type[Settings]) -> Complaint:
    key, kind = details["loc"], details["type"]
    if kind == "extra_forbidden":
        return _unknown_key(key, model)
    if kind == "missing":
        return Complaint(key, "is required")
    if kind in _EXPECTED:
        return Complaint(key, f"must be {_EXPECTED[kind]}, not {_named(details['input'])}")
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", details["ctx"]["expected"])
        given = str(details["input"])
        wanted = " or ".join(json.dumps(choice) for choice in choices)
        return Complaint(key, f"must be {wanted}, not {given!r}", nearest(given, choices))
    if kind == "too_short":
        least, actual = details["ctx"]["min_length"], details["ctx"]["actual_length"]
        return Complaint(key, f"needs at least {least} item{'s' * (least > 1)}, but has {actual}")
    if kind == "string_too_short":
        return Complaint(key, "must not be empty")
    message = details["msg"].removeprefix("Value error, ").replace("Input should", "should")
    return Complaint(key, f"{message} (it is {details['input']!r})")


def _unknown_key(key: Key, model: type[Settings]) -> Complaint:
    word = str(key[-1])
    valid = _keys_at(key[:-1], model)
    hyphenated = word.replace("_", "-")
    if hyphenated in valid:
        return Complaint(key, "unknown key: keys are written with hyphens", hyphenated)
    close = nearest(hyphenated, valid)
    return Complaint(key, "unknown key" if close else f"unknown key; this table has {', '.join(valid)}", close)


def _keys_at(key: Key, model: type[Settings]) -> list[str]:
    """The valid keys of the table at a path."""
    annotation: Any = model
    for part in key:
        if get_origin(annotation) in (tuple, dict):
            annotation = next(_models(annotation))
        else:
            fields = next(_models(annotation)).model_fields.values()
            annotation = next(field.annotation for field in fields if field.alias == part)
    return [field.alias or "" for field in next(_models(annotation)).model_fields.values()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The tables that an annotation such as `tuple[Table, ...]` or `Table | None` speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


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
        case _:
            return repr(value)
