"""Which waivers are in force, and what they cover."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from glob import escape
from typing import TYPE_CHECKING

from analyzers.finding import Violation
from analyzers.globs import matcher

if TYPE_CHECKING:
    from gates.settings.model import Waiver

NOTICE = datetime.timedelta(days=14)
"""How long before its end a waiver is announced to expire."""


def has_expired(waiver: Waiver, today: datetime.date) -> bool:
    """A waiver still holds on the date that it names."""
    return today > waiver.expires


def in_force(waivers: Iterable[Waiver], today: datetime.date) -> tuple[Waiver, ...]:
    return tuple(waiver for waiver in waivers if not has_expired(waiver, today))


def cover(waivers: Iterable[Waiver]) -> Callable[[Violation], bool]:
    """A predicate: does any of the waivers name this violation's rule, by its code, and cover its path?"""
    scopes = defaultdict(list)
    for waiver in waivers:
        scopes[waiver.rule].append(waiver.scope)
    matchers = {rule: matcher(patterns) for rule, patterns in scopes.items()}

    def covers(violation: Violation) -> bool:
        matches = matchers.get(violation.rule)
        return matches is not None and matches(violation.path)

    return covers


def idle(waivers: Iterable[Waiver], violations: Iterable[Violation]) -> tuple[Waiver, ...]:
    """Those that cover none of the violations."""
    paths = defaultdict(set)
    for violation in violations:
        paths[violation.rule].add(violation.path)
    return tuple(waiver for waiver in waivers if not any(map(matcher([waiver.scope]), paths.get(waiver.rule, ()))))


def suggestion(rule: str, path: str, *, owner: str, expires: datetime.date, prefix: str) -> str:
    """A waiver of a rule in one file, as TOML to copy into settings whose tables are below `prefix`.

    The reason is empty, which the settings refuse: somebody has to give one. JSON's escapes are a subset of TOML's.
    """
    table = f"{prefix}.waivers" if prefix else "waivers"
    scope, signed = (json.dumps(text, ensure_ascii=False) for text in (escape(path), owner))
    return f'[[{table}]]\nrule = "{rule}"\nscope = {scope}\nowner = {signed}\nreason = ""\nexpires = {expires}\n'
