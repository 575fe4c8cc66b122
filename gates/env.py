"""The environment gate: who uses which variable, and what the registries say."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from io import BytesIO
from tokenize import detect_encoding

from msgspec import Struct

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
from analyzers.generated import WRITE_ENVIRONMENT, stale_page
from analyzers.globs import matcher
from analyzers.markdown.extractor import is_markdown
from analyzers.nearest import nearest
from gates.files import write_generated, write_text
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
        registries = [Need(_reader(policy, r), _registry_files(r, context)) for r in policy.registries]
        return [
            Need(policy.extractor, _sources(policy, context)),
            Need(NamesExtractor(policy.prefixes), _documents(policy, context)),
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
        documents = facts.of(NamesExtractor(policy.prefixes))
        unsure = facts.problems.keys() | context.tree.problems | {path for path, said in files.items() if said.unread}
        unseen = {*_sources(policy, context), *_documents(policy, context)} - uses.keys() - documents.keys()
        files |= {path: files[path]._replace(unread=()) for path in facts.problems if path in files}
        read = [
            _read_registry(index, registry, context, facts, unsure) for index, registry in enumerate(policy.registries)
        ]
        return Inventory(
            policy,
            [found.registry for found in read if found.files],
            {path for found in read for path in found.files},
            sorted({path for found in read for path in found.files if path in unsure}),
            [entry for found in read for entry in found.entries],
            files,
            documents,
            bool(unseen or context.tree.problems),
        )

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        inventory = self.inventory(context, facts)
        found = analyse(inventory)
        page = inventory.policy.reference
        if page and inventory.is_complete:
            generated = _rendered(inventory)
            found += stale_page("ENV015", page, generated, context.text_of(page), WRITE_ENVIRONMENT)
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
    _refuse_unread(inventory)
    write_generated(loaded.file.parent, page, _rendered(inventory), WRITE_ENVIRONMENT)
    return page


def register_reads(loaded: Loaded, sources: Sources) -> dict[str, list[str]]:
    """Add a stub for each unregistered read to the first registry that can take one; the names, by changed file.

    Raises:
        UserError: a registry cannot be read, none can take a stub, or a file cannot be written.
    """
    from analyzers.environment.fixes import NoPlaceError, with_stubs

    context = sources.context(loaded, None)
    inventory = _inventory_of(loaded, sources)
    _refuse_unread(inventory)
    missing = (f.subject.split()[-1] for f in analyse(inventory) if f.rule == "ENV001" and sources.cover(f.path))
    names = sorted(set(missing))
    refused = []
    for registry in inventory.registries if names else ():
        for path in _registry_files(registry, context):
            text, encoding = _exact_text(context, path)
            if not _reader(inventory.policy, registry).may_stand_in(text):
                continue
            try:
                changed = with_stubs(text, registry, names)
            except NoPlaceError as error:
                refused.append(f"{path}: {error}")
                continue
            write_text(loaded.file.parent, path, changed, encoding)
            return {path: names}
    if refused:
        told = "; ".join(refused)
        raise UserError(f"no registry of the settings takes a stub for {', '.join(names)}, add it by hand: {told}")
    return {}


def _refuse_unread(inventory: Inventory) -> None:
    if inventory.unread:
        told = ", ".join(inventory.unread)
        raise UserError(f"{told}: cannot be read as a whole, and may register more than is known; mend that first")


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


def _documents(policy: EnvironmentPolicy, context: Context) -> list[str]:
    described = matcher(policy.documents)
    return [path for path in context.paths if is_markdown(path) and described(path)]


def _reader(policy: EnvironmentPolicy, registry: RegistryPolicy) -> RegistryExtractor:
    return RegistryExtractor(registry.symbol, registry.decorator, policy.wrappers)


@lru_cache(maxsize=64)
def _registry_files(registry: RegistryPolicy, context: Context) -> list[str]:
    selected = matcher(registry.files)
    return [path for path in context.paths if path.endswith(".py") and selected(path)]


class _ReadRegistry(Struct, frozen=True):
    registry: RegistryPolicy
    files: list[str]
    """Those that hold it, and what may hold it and could not be read as a whole: files, or folders of them."""
    entries: list[Entry]


def _read_registry(
    index: int, registry: RegistryPolicy, context: Context, facts: FactBase, unsure: Set[str]
) -> _ReadRegistry:
    """What the files of a registry hold of it.

    Raises:
        SettingsError: none of them holds or may hold it. A tree that is older than the settings may lack it.
    """
    paths = _registry_files(registry, context)
    reader = _reader(_policy(context), registry)
    rows = facts.of(reader, paths)
    files = [path for path in paths if rows.get(path) is not None or _may_hold(reader, path, context, unsure)]
    files = files or sorted(context.tree.problems)
    if not files and not context.past:
        symbol = registry.symbol or registry.decorator
        told = "binds it to a mapping, tuple, list or class" if registry.symbol else "has it"
        message = f"{symbol!r}: no file of the registry {told}"
        key = "symbol" if registry.symbol else "decorator"
        near = nearest(symbol, _bound_names(registry, context))
        raise context.loaded.error(("env", "registries", index, key), message, near)
    entries = [Entry(registry, path, Registration(*row)) for path in files for row in rows.get(path) or ()]
    return _ReadRegistry(registry, files, entries)


def _may_hold(reader: RegistryExtractor, path: str, context: Context, unsure: Set[str]) -> bool:
    """Whether a registry may stand in a part of a file that could not be read."""
    if path not in unsure:
        return False
    text = context.text_of(path)
    return text is None or reader.may_stand_in(text)


def _check(policy: EnvironmentPolicy, context: Context) -> None:
    """Refuse settings that do not fit the tree."""
    for index, registry in enumerate(policy.registries):
        key = ("env", "registries", index)
        if bool(registry.symbol) == bool(registry.decorator):
            raise context.loaded.error(
                key, "a registry is found by its `symbol` or by its `decorator`: name one of them"
            )
        if not (_registry_files(registry, context) or context.tree.problems):
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


def _exact_text(context: Context, path: str) -> tuple[str, str]:
    """A file's text with its own newlines, and its encoding, so that what is not changed stays as it is."""
    data = context.tree.read(path) or b""
    encoding, _ = detect_encoding(BytesIO(data).readline)
    return data.decode(encoding), encoding


GATE = EnvironmentGate()
