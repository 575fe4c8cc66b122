"""What a declared route takes, from the conditions that the settings put on its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from analyzers.declarations.values import Value, plain
from analyzers.routes.policy import Choice, Condition
from analyzers.routes.tables import Route

Cell: TypeAlias = Mapping[str, Choice]
"""A call: axis -> its value there."""
Vocabularies: TypeAlias = Mapping[str, frozenset[str]]
"""Field -> the values that are declared for it: one that lists them all refuses none."""


def refusals(route: Route, conditions: Sequence[Condition], cell: Cell) -> Iterator[str]:
    """The fields because of which a route cannot take a call, in the order of the conditions."""
    for condition in conditions:
        if not admits(condition, route, cell):
            yield condition.field


def admits(condition: Condition, route: Route, cell: Cell) -> bool:
    """Whether one condition lets a call pass. An axis that the call says nothing of is no obstacle."""
    value = _value(condition, route)
    if condition.test == "required":
        return bool(value)
    asked = None if condition.asks is None else cell.get(condition.asks)
    if asked is None or _is_open(condition, value):
        return True
    return all(_fits(condition, value, choice) for choice in (asked if isinstance(asked, tuple) else (asked,)))


def serves(route: Route, conditions: Sequence[Condition], stage: str, field: str | None) -> bool:
    """Whether a route is a candidate for a stage at all."""
    for condition in conditions:
        if condition.field == field and condition.asks is not None:
            return admits(condition, route, {condition.asks: stage})
    return route.text(field) == stage


def limits(route: Route, conditions: Sequence[Condition], declared: Vocabularies) -> Iterator[Condition]:
    """The conditions that can refuse a call; a route without any takes everything."""
    for condition in conditions:
        value = _value(condition, route)
        if not (value if condition.test == "required" else _takes_all(condition, value, declared)):
            yield condition


def covers(wide: Route, narrow: Route, conditions: Sequence[Condition], declared: Vocabularies) -> bool:
    """Whether one route takes every call that another one takes, or would take if it had what is `required` of it."""
    return all(
        _covers(condition, _value(condition, wide), _value(condition, narrow), declared) for condition in conditions
    )


def _covers(condition: Condition, wide: Value, narrow: Value, declared: Vocabularies) -> bool:
    if condition.test == "required":
        return bool(wide)
    if _takes_all(condition, wide, declared):
        return True
    if _is_open(condition, narrow):
        return False
    if condition.test == "one-of":
        return _members(wide) >= _members(narrow)
    # What a limit lets pass, every stricter one lets pass as well.
    return condition.test == "supports" or _fits(condition, wide, narrow)


def _takes_all(condition: Condition, value: Value, declared: Vocabularies) -> bool:
    if _is_open(condition, value):
        return True
    return condition.test == "one-of" and condition.field in declared and _members(value) >= declared[condition.field]


def _is_open(condition: Condition, value: Value) -> bool:
    """Whether a field of this value refuses nothing."""
    match condition.test:
        case "supports":
            return bool(value)
        case "one-of":
            return value is None or value == [] or (condition.wildcard is not None and value == condition.wildcard)
        case "multiple-of":
            return value is None or value == 1
    return value is None


def _fits(condition: Condition, value: Value, choice: Value) -> bool:
    """Whether a field that refuses something lets one value of a call pass."""
    match condition.test:
        case "supports":
            return not choice
        case "one-of":
            return str(choice) in _members(value)
    if not isinstance(choice, int) or not isinstance(value, int | float):
        return False
    match condition.test:
        case "multiple-of":
            return bool(value) and choice % value == 0
        case "at-least":
            return choice >= value
    return choice <= value


def _value(condition: Condition, route: Route) -> Value:
    return plain(route.fields.get(condition.field))


def _members(value: Value) -> frozenset[str]:
    return frozenset(map(str, value) if isinstance(value, list) else (str(value),))
