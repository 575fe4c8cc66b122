"""Everything that a tree says of the environment, in one place: what is registered, used, mentioned and documented."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from analyzers.environment.policy import EnvironmentPolicy, RegistryPolicy
from analyzers.environment.registrations import Registration
from analyzers.environment.uses import ANY, FileUses, Use
from analyzers.finding import Finding


class Entry(NamedTuple):
    """A registration, and where it stands."""

    policy: RegistryPolicy
    path: str
    registration: Registration

    @property
    def name(self) -> str:
        return self.registration.name

    @property
    def foreign_reads(self) -> list[str]:
        """What its getter reads instead of the variable."""
        reads = [name for name in self.registration.reads or () if ANY not in name]
        return [] if self.name in reads else reads

    def finding(self, rule: str, message: str, hint: str, aspect: str = "") -> Finding:
        """One about this registration, or about one aspect of it."""
        subject = f"{self.name} {aspect}" if aspect else self.name
        line, column = self.registration.line, self.registration.column
        return Finding(rule, self.path, line, column, "", subject, message, hint)


class PlacedUse(NamedTuple):
    path: str
    use: Use


@dataclass(frozen=True)
class Inventory:
    """The facts of one tree under one policy."""

    policy: EnvironmentPolicy
    registrations: Sequence[Entry]
    """In order of the registries in the settings, then of path and place."""
    files: Mapping[str, FileUses]
    documents: Mapping[str, Sequence[tuple[str, int]]]
    """Path -> the names that a document holds, each with its first line."""

    @cached_property
    def entries(self) -> list[Entry]:
        """The registrations whose name is known."""
        return [entry for entry in self.registrations if entry.name != ANY]

    @cached_property
    def computed(self) -> list[Entry]:
        """The registrations whose name is not."""
        return [entry for entry in self.registrations if entry.name == ANY]

    @cached_property
    def registered(self) -> dict[str, Entry]:
        """The first registration of each name."""
        return {entry.name: entry for entry in reversed(self.entries)}

    @cached_property
    def registry_files(self) -> frozenset[str]:
        return frozenset(entry.path for entry in self.registrations)

    @cached_property
    def direct_uses(self) -> list[PlacedUse]:
        """Every use but those through a registry; also those through a wrapper of another file."""
        exported = {name for said in self.files.values() for name in said.wrappers}
        # Calls of these are among the uses already.
        foreign = exported.difference(self.policy.wrappers, ["__init__"])
        return [
            PlacedUse(path, use)
            for path, said in self.files.items()
            for use in (*said.uses, *_asked(said, frozenset(f"{name}(" for name in foreign.difference(said.wrappers))))
        ]

    @cached_property
    def uses(self) -> list[PlacedUse]:
        """Every use, also those that ask a registry by its accessor, unless it may hold more than is known."""
        known = {registry.accessor for registry in self.policy.registries} - {e.policy.accessor for e in self.computed}
        accessors = frozenset(f"{accessor}." for accessor in known if accessor)
        through = (PlacedUse(path, use) for path, said in self.files.items() for use in _asked(said, accessors))
        return [*self.direct_uses, *through]

    @cached_property
    def read_names(self) -> set[str]:
        """The names that something outside of their own registration reads, or may read."""
        read = {use.name for path, use in self.uses if use.reads and path not in self.registry_files}
        for path, said in self.files.items():
            changed = {(use.name, use.line) for use in said.uses if not use.reads}
            for mention in said.mentions:
                own = path in self.registry_files and not mention.context.endswith(".")
                if not own and (mention.name, mention.line) not in changed:
                    read.add(mention.name)
        return read

    def is_own(self, name: str) -> bool:
        return name.startswith(self.policy.prefixes)


def _asked(said: FileUses, contexts: frozenset[str]) -> Iterator[Use]:
    """The reads by mentions in some contexts, but for those that are known already."""
    known = {(use.name, use.line) for use in said.uses}
    for mention in said.mentions:
        if mention.context in contexts and (mention.name, mention.line) not in known:
            yield Use(mention.name, "read", mention.line, mention.column, "")
