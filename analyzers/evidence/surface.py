"""What a tree declares that a change must account for: routes, owned settings and environment variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from analyzers.configuration.classes import FieldKey
from analyzers.configuration.configuration import Configuration
from analyzers.declarations.values import text_of
from analyzers.environment.inventory import Inventory
from analyzers.routes.admission import limits
from analyzers.routes.plan import plan
from analyzers.routes.snapshot import is_planned
from analyzers.routes.tables import Route, TableReading

Sort = Literal["route", "setting", "variable", "baseline", "kernel"]
_TOLD = "description"
"""The field of a registration that is for people only: another wording changes nothing."""


class Subject(NamedTuple):
    """Something that is declared, or a file that counts."""

    sort: Sort
    name: str
    """What a row calls it: `table/route`, an owner path, a variable, a file."""
    path: str
    line: int
    facts: Mapping[str, str] = {}
    """What is compared, in words."""
    calls: frozenset[str] = frozenset()
    """Of a route: the cells of the static plan in which it runs."""
    earlier: tuple[str, ...] = ()
    """Of a route that no plan says anything of: the names of those that are asked before it."""
    table: str = ""
    """Of a route."""
    format: str = ""
    """Of a route: the formats that it takes, where the settings say which axis that is."""
    conditions: str = ""
    """Of a route: what it asks of a call."""
    fallback: str = ""
    """Of a route: what takes the calls that it refuses, where it says so."""


def routes_in(readings: Iterable[TableReading]) -> list[Subject]:
    """Every declared route. Of several with one name the first counts."""
    found: dict[str, Subject] = {}
    for reading in readings:
        calls: dict[str, set[str]] = {}
        for cell, outcome in plan(reading).items() if is_planned(reading) else ():
            calls.setdefault(outcome.route or "", set()).add(cell)
        earlier: list[str] = []
        for route in reading.routes:
            subject = _route(reading, route)._replace(calls=frozenset(calls.get(route.name, ())))
            if reading.policy.ordered and not is_planned(reading) and not route.observer:
                subject = subject._replace(earlier=tuple(earlier))
                earlier.append(subject.name)
            found.setdefault(subject.name, subject)
    return list(found.values())


def _route(reading: TableReading, route: Route) -> Subject:
    policy = reading.policy
    asked = {condition.field: route.text(condition.field) for condition in limits(route, policy.conditions, {})}
    formats = {c.field for c in policy.conditions if policy.format is not None and c.asks == policy.format}
    return Subject(
        sort="route",
        name=f"{policy.name}/{route.name}",
        path=route.place.path,
        line=route.place.line,
        facts={name: text_of(value) for name, value in route.fields.items()},
        table=policy.name,
        format=", ".join(asked[field] for field in formats if field in asked) or ("any" if formats else ""),
        conditions="; ".join(f"{field}: {value}" for field, value in asked.items() if field not in formats),
        fallback=route.text(policy.fallback),
    )


def settings_in(configuration: Configuration) -> list[Subject]:
    """Every owner path of every setting; the root's name stands before it where there are several roots."""
    variables: dict[FieldKey, list[str]] = {}
    for alias in configuration.aliases:
        if alias.setting is not None:
            variables.setdefault(alias.setting.setting.key, []).append(alias.variable)
    several = len(configuration.policy.roots) > 1
    found: dict[str, Subject] = {}
    for owned in configuration.settings:
        setting = owned.setting
        facts = {
            "class": setting.owner.name,
            "type": setting.fact.annotation,
            "default": setting.default,
            "variables": ", ".join(sorted(variables.get(setting.key, ()))),
            "diagnostic": "true" if configuration.is_diagnostic(owned) else "",
        }
        for path in owned.paths:
            name = f"{path.root}.{path.path}" if several else path.path
            found.setdefault(name, Subject("setting", name, setting.owner.path, setting.fact.line, facts))
    return list(found.values())


def variables_in(inventory: Inventory) -> list[Subject]:
    """Every registered variable, and the tree's own that code reads without one."""
    found: dict[str, Subject] = {}
    for name, entry in inventory.registered.items():
        registration = entry.registration
        facts = {field: _words(value) for field, value in registration.fields.items() if field != _TOLD}
        facts["reads"] = _words(list(registration.reads or ()))
        facts["given without it"] = _words([*registration.given, *registration.annotated])
        found[name] = Subject("variable", name, entry.path, registration.line, facts)
    for path, use in inventory.uses:
        if use.reads and not use.is_dynamic and inventory.is_own(use.name) and use.name not in found:
            found[use.name] = Subject("variable", use.name, path, use.line, {"registered": "no"})
    return list(found.values())


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return text_of(value)
