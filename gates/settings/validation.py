"""From a parsed TOML table to `Settings`, or to the list of everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import ValidationError, convert
from msgspec.inspect import type_info

from analyzers.nearest import nearest
from gates.settings.complaints import Complaint, complaints
from gates.settings.lines import Key
from gates.settings.model import Settings, settings_model


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
    if wrong := list(complaints(type_info(model), table)):
        raise InvalidSettingsError(wrong)
    try:
        settings = convert(table, model)
    except ValidationError as error:
        raise InvalidSettingsError([Complaint((), str(error))]) from None
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
