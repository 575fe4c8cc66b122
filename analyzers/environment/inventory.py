"""Everything that a tree says of the environment, in one place: what is registered, used, mentioned and documented."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

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


class Inventory(Struct, frozen=True, dict=True):
    """The facts of one tree under one policy."""

    policy: EnvironmentPolicy
    registries: Sequence[RegistryPolicy]
    """Those of the settings that the tree has, however little they hold."""
    registry_files: Set[str]
    """Where they stand, or may stand."""
    unread: Sequence[str]
    """Those of these files that could not be read, or not as a whole."""
    registrations: Sequence[Entry]
    """In order of the registries in the settings, then of path and place."""
    files: Mapping[str, FileUses]
    documents: Mapping[str, Sequence[tuple[str, int]]]
    """Path -> the names that a document holds, each with its first line."""
    is_blind: bool
    """There are files of which nothing is known: they may read and describe whatever is registered."""

    @cached_property
    def entries(self) -> list[Entry]:
        """The registrations whose name is known."""
        return [entry for entry in self.registrations if ANY not in entry.name]

    @cached_property
    def computed(self) -> list[Entry]:
        """The registrations whose name is not."""
        return [entry for entry in self.registrations if ANY in entry.name]

    @cached_property
    def registered(self) -> dict[str, Entry]:
        """The first registration of each name."""
        return {entry.name: entry for entry in reversed(self.entries)}

    @property
    def is_complete(self) -> bool:
        """Whether a name that is not registered here is registered nowhere."""
        return bool(self.registries) and not self.unread

    @cached_property
    def direct_uses(self) -> list[PlacedUse]:
        """Every use but those through a registry; also those through a wrapper of another file."""
        direct = [PlacedUse(path, use) for path, said in self.files.items() for use in said.uses]
        return [*direct, *self._calls_of(self._wrappers_beside())]

    @cached_property
    def uses(self) -> list[PlacedUse]:
        """Every use, also those that ask a registry by its accessor, unless it may hold more than is known, or by a
        function that stands beside it."""
        known = {registry.accessor for registry in self.policy.registries} - {e.policy.accessor for e in self.computed}
        accessors = frozenset(f"{accessor}." for accessor in known if accessor)
        through = (PlacedUse(path, use) for path, said in self.files.items() for use in _asked(said, accessors))
        helpers = {name for path in self.registry_files & self.files.keys() for name in self.files[path].wrappers}
        return [*self.direct_uses, *self._calls_of(helpers - self._wrappers_beside()), *through]

    def _wrappers_beside(self) -> set[str]:
        """The wrappers that files define in which no registry stands."""
        return {name for path in self.files.keys() - self.registry_files for name in self.files[path].wrappers}

    def _calls_of(self, wrappers: Set[str]) -> Iterator[PlacedUse]:
        """The reads through some wrappers, in other files than those that define them."""
        # Calls of these are among the uses already.
        known = {*self.policy.wrappers, "__init__"}
        for path, said in self.files.items():
            foreign = frozenset(f"{name}(" for name in wrappers - known.union(said.wrappers))
            yield from (PlacedUse(path, use) for use in _asked(said, foreign))

    @cached_property
    def read_names(self) -> set[str]:
        """The names that something outside of their own registration reads, or may read."""
        read = {use.name for path, use in self.uses if use.reads and path not in self.registry_files}
        read.update(name for entry in self.entries for name in entry.registration.reads or () if name != entry.name)
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
