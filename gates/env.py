"""The environment gate: who uses which variable, and what the registries say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from analyzers.environment.analyse import analyse
from analyzers.environment.extractor import SUFFIXES, NamesExtractor, RegistryExtractor
from analyzers.environment.inventory import Entry, Inventory
from analyzers.environment.policy import EnvironmentPolicy, RegistryPolicy
from analyzers.environment.registrations import Registration
from analyzers.environment.rules import RULES
from analyzers.environment.uses import FileUses
from analyzers.errors import UserError
from analyzers.facts import FactBase, Need
from analyzers.finding import Finding
from analyzers.generated import stale_page
from analyzers.globs import matcher
from analyzers.markdown.extractor import is_markdown
from analyzers.nearest import nearest
from gates.files import write_text
from gates.gate import Context
from gates.run import Sources
from gates.settings.load import Loaded

_BOUND = re.compile(r"^(?:class[ \t]+)?(\w+)[ \t]*[:=(]", re.MULTILINE)


class EnvironmentGate:
    name = "env"
    summary = "which environment variables there are, who reads them, and whether that is written down"
    rules = RULES

    def needs(self, context: Context) -> list[Need]:
        policy = _policy(context)
        if not context.past:
            _check(policy, context)
        described = matcher(policy.documents)
        documents = [path for path in context.paths if is_markdown(path) and described(path)]
        registries = [Need(_reader(policy, r), _registry_files(r, context)) for r in policy.registries]
        return [
            Need(policy.extractor, _sources(policy, context)),
            Need(NamesExtractor(policy.prefixes), documents),
            *registries,
        ]

    def inventory(self, context: Context, facts: FactBase) -> Inventory:
        """Everything that the tree says of the environment.

        Raises:
            SettingsError: a registry's symbol is in none of its files.
        """
        policy = _policy(context)
        uses = facts.of(policy.extractor, _sources(policy, context))
        files = {path: FileUses.from_json(fact) for path, fact in uses.items() if fact}
        files |= {path: files[path]._replace(unread=()) for path in facts.problems if path in files}
        documents = facts.of(NamesExtractor(policy.prefixes))
        return Inventory(policy, list(_entries(policy, context, facts)), files, documents)

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        inventory = self.inventory(context, facts)
        found = analyse(inventory)
        page = inventory.policy.reference
        if page and inventory.policy.registries:
            generated = _rendered(inventory)
            found += stale_page("ENV015", page, generated, context.text_of(page), "gates env --write")
        return found


def write_reference(loaded: Loaded, sources: Sources) -> str:
    """Write the reference page; its path.

    Raises:
        UserError: there is no page or no registry in the settings, or the page cannot be written.
    """
    inventory = _inventory_of(loaded, sources)
    page = inventory.policy.reference
    if not page or not inventory.policy.registries:
        raise loaded.error(("env",), "there is nothing to write: the page needs `reference`, and a registry")
    write_text(loaded.file.parent, page, _rendered(inventory))
    return page


def register_reads(loaded: Loaded, sources: Sources) -> dict[str, list[str]]:
    """Add a stub for each unregistered read to the first registry that can take one; the names, by changed file.

    Raises:
        UserError: no registry can take a stub, or its file cannot be written.
    """
    from analyzers.environment.fixes import with_stubs

    context = sources.context(loaded, None)
    inventory = _inventory_of(loaded, sources)
    missing = (f.subject.split()[-1] for f in analyse(inventory) if f.rule == "ENV001" and sources.cover(f.path))
    names = sorted(set(missing))
    if not names:
        return {}
    for registry in inventory.policy.registries:
        for path in _registry_files(registry, context):
            text = _exact_text(context, path)
            changed = with_stubs(text, registry, names) if text and registry.symbol else None
            if changed is not None:
                write_text(loaded.file.parent, path, changed)
                return {path: names}
    raise UserError("no registry of the settings is a mapping, tuple, list or class that a stub could be added to")


def _policy(context: Context) -> EnvironmentPolicy:
    policy = context.settings.env
    if policy is None:
        raise context.loaded.error(("env",), "nothing to check: name the prefixes of the tree's own variables")
    return policy


def _inventory_of(loaded: Loaded, sources: Sources) -> Inventory:
    context = sources.context(loaded, None)
    facts = FactBase(context.tree)
    facts.gather(GATE.needs(context))
    return GATE.inventory(context, facts)


def _rendered(inventory: Inventory) -> str:
    from reports.environment import render

    return render(inventory.entries)


@lru_cache(maxsize=2)
def _sources(policy: EnvironmentPolicy, context: Context) -> list[str]:
    selected = matcher(policy.files)
    return [path for path in context.paths if path.endswith(SUFFIXES) and selected(path)]


def _reader(policy: EnvironmentPolicy, registry: RegistryPolicy) -> RegistryExtractor:
    return RegistryExtractor(registry.symbol, registry.decorator, policy.wrappers)


@lru_cache(maxsize=64)
def _registry_files(registry: RegistryPolicy, context: Context) -> list[str]:
    selected = matcher(registry.files)
    return [path for path in context.paths if path.endswith(".py") and selected(path)]


def _entries(policy: EnvironmentPolicy, context: Context, facts: FactBase) -> Iterator[Entry]:
    for index, registry in enumerate(policy.registries):
        read = facts.of(_reader(policy, registry))
        found = {path: read[path] for path in _registry_files(registry, context) if read.get(path) is not None}
        if not found and not context.past:
            names = _bound_names(registry, context)
            near = nearest(registry.symbol, names)
            message = f"{registry.symbol!r}: no file of the registry binds it to a mapping, tuple, list or class"
            raise context.loaded.error(("env", "registries", index, "symbol"), message, near)
        for path, rows in found.items():
            yield from (Entry(registry, path, Registration(*row)) for row in rows)


def _check(policy: EnvironmentPolicy, context: Context) -> None:
    """Refuse settings that do not fit the tree."""
    for index, registry in enumerate(policy.registries):
        key = ("env", "registries", index)
        if bool(registry.symbol) == bool(registry.decorator):
            raise context.loaded.error(
                key, "a registry is found by its `symbol` or by its `decorator`: name one of them"
            )
        if not _registry_files(registry, context):
            told = ", ".join(registry.files)
            near = nearest(registry.files[0], context.paths)
            raise context.loaded.error((*key, "files"), f"{told}: no Python file matches", near)
    for name, globs in (("files", policy.files), ("documents", policy.documents)):
        if globs and not any(map(matcher(globs), context.paths)):
            raise context.loaded.error(("env", name), f"{', '.join(globs)}: no file matches")


def _bound_names(registry: RegistryPolicy, context: Context) -> list[str]:
    """What the registry's files bind at module level."""
    texts = map(context.text_of, _registry_files(registry, context))
    return sorted({name for text in texts if text for name in _BOUND.findall(text)})


def _exact_text(context: Context, path: str) -> str | None:
    """With its own newlines and byte order mark, so that what is not changed stays as it is."""
    data = context.tree.read(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


GATE = EnvironmentGate()
