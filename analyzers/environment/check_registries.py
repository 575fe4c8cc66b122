"""What registries say, and whether it is enough and true: ENV003 to ENV009."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzers.environment.defaults import agree
from analyzers.environment.inventory import Entry, Inventory
from analyzers.finding import Finding
from analyzers.nearest import nearest

_DEPRECATED = "deprecated"
"""The category of a deprecated variable."""


def check_registries(inventory: Inventory) -> Iterator[Finding]:
    for entry in inventory.entries:
        yield from _getter(entry)
        yield from _metadata(entry)
        yield from _category(entry)
        yield from _default(entry)
        yield from _deprecation(entry, inventory)
    yield from _twice(inventory)


def _twice(inventory: Inventory) -> Iterator[Finding]:
    for entry in inventory.entries:
        first = inventory.registered[entry.name]
        if first is not entry:
            message = f"`{entry.name}` is registered already, in {first.path}:{first.registration.line}"
            yield entry.finding("ENV003", message, "Keep one registration; the later one wins without a word.")


def _getter(entry: Entry) -> Iterator[Finding]:
    if entry.foreign_reads:
        told = " and ".join(f"`{name}`" for name in entry.foreign_reads)
        message = f"`{entry.name}` is registered with a getter that reads {told}"
        yield entry.finding("ENV004", message, "Give both the same name.")


def _metadata(entry: Entry) -> Iterator[Finding]:
    for field in entry.policy.needs:
        if field in entry.registration.computed:
            message = f"`{entry.name}` computes its `{field}`"
            yield entry.finding(
                "ENV006", message, "Write the value out, so that a reader of the source knows it.", field
            )
        elif field not in entry.registration.fields:
            message = f"`{entry.name}` does not state its `{field}`"
            yield entry.finding("ENV005", message, f"State `{field}` in the registration.", field)
        elif field != entry.policy.default and entry.registration.fields[field] in ("", [], {}):
            yield entry.finding("ENV005", f"`{entry.name}` leaves its `{field}` empty", f"Fill `{field}` in.", field)


def _category(entry: Entry) -> Iterator[Finding]:
    allowed = entry.policy.categories
    category = entry.registration.fields.get(entry.policy.category)
    if allowed and category is not None and category not in allowed:
        near = nearest(str(category), allowed)
        hint = f"Did you mean `{near}`?" if near else f"The settings know {', '.join(allowed)}."
        yield entry.finding(
            "ENV007", f"`{entry.name}` has the category `{category}`, which the settings do not know", hint
        )


def _default(entry: Entry) -> Iterator[Finding]:
    registration = entry.registration
    stated = [registration.fields[entry.policy.default]] if entry.policy.default in registration.fields else []
    for declared in stated or registration.annotated:
        if registration.given and not agree(declared, registration.given[0]):
            message = f"`{entry.name}` declares the default {declared!r}; its getter gives {registration.given[0]!r}"
            yield entry.finding("ENV008", message, "Make them the same, or state the default in one place only.")


def _deprecation(entry: Entry, inventory: Inventory) -> Iterator[Finding]:
    """A deprecation may be a record, or a text that is its reason."""
    fields = entry.registration.fields
    stated = fields.get(entry.policy.deprecation)
    if entry.policy.deprecation in entry.registration.computed:
        return
    if not stated and fields.get(entry.policy.category) != _DEPRECATED:
        return
    said: Mapping[str, Any] = (
        stated if isinstance(stated, dict) else {"reason": stated} if isinstance(stated, str) else {}
    )
    for need in entry.policy.deprecation_needs:
        if not said.get(need):
            message = f"`{entry.name}` is deprecated without stating the {need}"
            yield entry.finding(
                "ENV009", message, "Say why it goes, how that can be checked, and what to use instead.", need
            )
    replacement = said.get("replacement")
    unknown = inventory.is_complete and replacement not in inventory.registered
    if isinstance(replacement, str) and inventory.is_own(replacement) and unknown:
        message = f"`{entry.name}` is replaced by `{replacement}`, which no registry holds"
        yield entry.finding("ENV009", message, "Name a variable that is registered.", f"replaced by {replacement}")
