"""The reference page of the environment: every registered variable, as its registry states it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from analyzers.environment.inventory import Entry
from analyzers.environment.policy import RegistryPolicy
from analyzers.generated import WRITE_ENVIRONMENT, generated_mark
from reports.markdown import code, escaped, table

_HEAD = (
    f"# Environment variables\n\n{generated_mark(WRITE_ENVIRONMENT)} from the registries; change those, not this file."
    " It says what is declared. Whether a variable has an effect is a matter of the code that reads it."
)
_USUAL = ("description", "owner")
"""Fields that are shown where a registration states them, needed or not."""


def render(entries: Sequence[Entry]) -> str:
    """The page; the same entries give the same page, whatever their order in a file."""
    return "\n\n".join((_HEAD, *_sections(entries))) + "\n"


def _sections(entries: Sequence[Entry]) -> Iterator[str]:
    for (path, title), group in groupby(entries, key=lambda entry: (entry.path, _title(entry.policy))):
        found = sorted(group, key=lambda entry: entry.name)
        yield f"## {escaped(title)}"
        yield f"Registered in {code(path)}."
        yield _table(found)


def _title(policy: RegistryPolicy) -> str:
    return policy.symbol or f"@{policy.decorator}"


def _table(entries: Sequence[Entry]) -> str:
    policy = entries[0].policy
    wanted = dict.fromkeys((*policy.needs, *_USUAL, policy.category))
    shown = [f for f in wanted if f != policy.default and any(f in entry.registration.fields for entry in entries)]
    header = ("Variable", "Default", *(field.replace("_", " ").capitalize() for field in shown), "Deprecated")
    deprecated = [_deprecation(entry) for entry in entries]
    rows = [
        (code(entry.name), _default(entry), *(_cell(entry.registration.fields.get(field)) for field in shown), said)
        for entry, said in zip(entries, deprecated, strict=True)
    ]
    if not any(deprecated):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return table(header, rows, "l" * len(header))


def _default(entry: Entry) -> str:
    """The declared one, else the getter's."""
    registration = entry.registration
    field = entry.policy.default
    stated = [registration.fields[field]] if field in registration.fields else registration.annotated
    known = stated or registration.given
    return code(json.dumps(known[0], ensure_ascii=False)) if known and known[0] is not None else ""


def _deprecation(entry: Entry) -> str:
    said = entry.registration.fields.get(entry.policy.deprecation)
    if isinstance(said, dict):
        parts = (said.get("reason"), f"use {said['replacement']}" if said.get("replacement") else "")
        return "; ".join(_cell(part) for part in parts if part) or "yes"
    return _cell(said) if said else ""


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escaped(" ".join(text.split()))
