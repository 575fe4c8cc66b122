"""Where variables are used and documented: ENV001, ENV002, ENV010 to ENV014 and ENV016."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.environment.inventory import Inventory, PlacedUse
from analyzers.environment.near import NearNames
from analyzers.environment.uses import ANY
from analyzers.finding import Finding
from analyzers.globs import matcher


def check_uses(inventory: Inventory) -> Iterator[Finding]:
    """Report uses of variables that nobody registered, of unknown names, and reads where none should be."""
    near = NearNames(inventory.registered)
    unknown = {entry.path for entry in inventory.computed}
    mistaken = {(entry.path, name) for entry in inventory.entries for name in entry.foreign_reads}
    for placed in inventory.uses:
        name = placed.use.name
        if placed.use.is_dynamic:
            if placed.use.access != "test-write" and placed.path not in inventory.registry_files:
                yield _found("ENV014", placed, *_dynamic(placed))
        elif placed.use.access == "whole" or (placed.path, name) in mistaken:
            continue
        elif inventory.is_complete and name not in inventory.registered:
            close = near.near(name)
            if close:
                message = f"names `{name}`, which is not registered; `{close}` is"
                yield _found(
                    "ENV013", placed, message, f"Write `{close}`, or register `{name}` if it is another variable."
                )
            elif placed.use.reads and inventory.is_own(name) and placed.path not in unknown:
                hint = "Register it; `gates env --fix` adds a stub."
                yield _found("ENV001", placed, f"reads `{name}`, which no registry holds", hint)
    for entry in inventory.computed:
        told = "whose name is computed" if entry.name == ANY else f"of which only `{entry.name}` is known"
        yield entry.finding("ENV014", f"registers a variable {told}", "Write the name out.")
    yield from _late_reads(inventory)


def check_statements(inventory: Inventory) -> Iterator[Finding]:
    """Report statements that could not be read."""
    for path, said in inventory.files.items():
        for line in said.unread:
            message = "names the environment in a statement that cannot be parsed here"
            hint = "Give the use of the environment a statement of its own."
            yield Finding("ENV016", path, line, 0, "", "unread statement", message, hint)


def check_reads(inventory: Inventory) -> Iterator[Finding]:
    """Report registered variables of the tree's own that nothing reads; others may be there for a library to read."""
    for entry in () if inventory.is_blind else inventory.entries:
        by_itself = entry.registration.by_itself or entry.policy.captured
        if inventory.is_own(entry.name) and not by_itself and entry.name not in inventory.read_names:
            hint = "Take it out of the registry, together with what it once switched."
            yield entry.finding("ENV002", f"`{entry.name}` is registered, and nothing reads it", hint)


def check_documents(inventory: Inventory) -> Iterator[Finding]:
    """Report where registries and documents disagree on which variables there are."""
    if not inventory.policy.documents:
        return
    documented = {name for names in inventory.documents.values() for name, _ in names}
    for entry in () if inventory.is_blind else inventory.entries:
        if inventory.is_own(entry.name) and entry.name not in documented:
            told = ", ".join(inventory.policy.documents)
            yield entry.finding(
                "ENV011", f"`{entry.name}` is registered, and no document names it", f"Describe it in {told}."
            )
    near = NearNames(inventory.registered)
    for path, names in inventory.documents.items():
        for name, line in names:
            if inventory.is_complete and name not in inventory.registered and inventory.is_own(name):
                close = near.near(name)
                hint = f"Did you mean `{close}`?" if close else "Take it out of the text, or register the variable."
                yield Finding("ENV012", path, line, 0, "", name, f"names `{name}`, which no registry holds", hint)


def _late_reads(inventory: Inventory) -> Iterator[Finding]:
    settings = inventory.policy.initialisation
    if settings is None:
        return
    initial = matcher(settings)
    for placed in inventory.direct_uses:
        outside = placed.path not in inventory.registry_files and not initial(placed.path)
        known = placed.use.name in inventory.registered or not inventory.registries
        if outside and known and placed.use.reads and inventory.is_own(placed.use.name):
            message = f"reads `{placed.use.name}` outside of the files that set the program up"
            yield _found(
                "ENV010", placed, message, "Read it once, where configuration is built, and hand the value down."
            )


def _dynamic(placed: PlacedUse) -> tuple[str, str]:
    verb = {"read": "reads", "write": "writes", "delete": "deletes"}.get(placed.use.effect, "reads and changes")
    message = f"{verb} a variable of which only `{placed.use.name}` is known"
    if placed.use.name == "*":
        message = f"{verb} a variable whose name is not known from this file"
    hint = "Write the name out. If this is a function that reads what its callers name, list it under `env.wrappers`."
    return message, hint


def _found(rule: str, placed: PlacedUse, message: str, hint: str) -> Finding:
    use = placed.use
    return Finding(rule, placed.path, use.line, use.column, use.symbol, f"{use.access} {use.name}", message, hint)
