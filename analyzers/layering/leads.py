"""What import clauses lead to, kept from run to run for as long as the tree has the same modules."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any

from analyzers.cache import Fact, FactCache, decoded, encoded
from analyzers.layering.modules import Modules
from analyzers.layering.resolution import Names, Resolver
from analyzers.python.facts import ImportFlag, read_clause

_KIND = "leads@1"
"""The number goes up whenever the same clause may lead elsewhere."""
_LAZY = int(ImportFlag.LAZY)
"""A plain number: `IntFlag` is slow, and the flags of every clause are tested."""

Clauses = dict[str, Sequence[int]]
"""Clause, as `PythonFacts.clauses` has it -> what it leads to: modules by number, then names outside of the tree."""


class Leads:
    """What clauses lead to in the files of each folder, each looked up once.

    That depends on which modules there are and on nothing that they hold, so a cache can keep it. To look all clauses
    up anew would take a tenth of a run in which nothing has changed.
    """

    def __init__(
        self,
        modules: Modules,
        externals: Sequence[str] = (),
        type_checking: bool = False,
        cache: FactCache | None = None,
    ) -> None:
        """Take up what the cache has.

        Args:
            modules: the modules of the tree.
            externals: patterns of the names outside of the tree that matter; sorted.
            type_checking: whether imports under `if TYPE_CHECKING:` count.
            cache: where to look for what an earlier run found, and to leave what this one finds.
        """
        self._modules = modules
        self._externals = externals
        self._ignored = 0 if type_checking else int(ImportFlag.TYPE_CHECKING)
        self._cache = cache
        kept = self._kept()
        self._absolute: dict[str, Clauses] = kept.get("absolute", {})
        """By import path: what absolute clauses lead to from every folder that has it."""
        self._folders = {folder: FolderLeads(self, folder, known) for folder, known in kept.get("folders", {}).items()}
        self.numbering = _Numbering(len(modules), kept.get("names", ()))
        self.complete = True
        """Whether the cache knew of everything that was asked for."""

    def of(self, folder: str) -> FolderLeads:
        """Where the import clauses of the files in a folder lead."""
        if folder not in self._folders:
            self._folders[folder] = FolderLeads(self, folder, {})
        return self._folders[folder]

    def absolute(self, folder: str) -> Clauses:
        """Where absolute clauses lead from this folder and all others with its import path."""
        return self._absolute.setdefault("\n".join(self._modules.import_path(folder)), {})

    def keep(self) -> None:
        """Leave in the cache what it did not have."""
        if self._cache is not None and not self.complete:
            found = {"names": [*self.numbering], "absolute": self._absolute, "folders": self._folders}
            self._cache.store([Fact(self._key, _KIND, encoded(found))])

    def look_up(self, folder: str, text: str) -> tuple[Sequence[int], bool]:
        """What a clause leads to from a folder, and whether it does from every folder with the same import path."""
        self.complete = False
        level, flags, module, names = read_clause(text)
        lazy = flags & _LAZY
        origin = self._resolver.folder(folder)[level, lazy][module]
        leads_on = origin.matter and not flags & self._ignored
        targets = self._targets(origin, names, self._modules.packages_over(folder)) if leads_on else ()
        return targets, not (level or lazy or origin.nearest is not None)

    def _targets(self, origin: Names, names: str, running: Container[int]) -> Sequence[int]:
        """`running` are the packages that the importing file lies below."""
        found = origin.all_of(names)
        targets = [self.numbering[target] if isinstance(target, str) else target for target in found]
        if origin.nearest in running:
            targets = [target for target in targets if target != origin.nearest]
        return targets

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(self._modules, self._externals)

    @cached_property
    def _key(self) -> str:
        """Names all that what is kept depends on; Python's version, since it says what the standard library holds."""
        question = (sys.version, self._ignored, self._externals, self._modules.roots, self._modules.paths)
        return blake2b(repr(question).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()

    def _kept(self) -> Mapping[str, Any]:
        stored = self._cache.lookup(_KIND, [self._key]) if self._cache is not None else {}
        with suppress(ValueError):
            if stored:
                kept: dict[str, Any] = decoded(stored.values())[0]
                return kept
        return {}


class FolderLeads(Clauses):
    """What the clauses in the files of one folder lead to, unless `shared` says it."""

    def __init__(self, leads: Leads, folder: str, known: Clauses) -> None:
        super().__init__(known)
        self.shared = leads.absolute(folder)
        """What absolute clauses lead to from every folder with the same import path."""
        self._leads = leads
        self._folder = folder

    def __missing__(self, text: str) -> Sequence[int]:
        targets, alike = self._leads.look_up(self._folder, text)
        (self.shared if alike else self)[text] = targets
        return targets


class _Numbering(dict[str, int]):
    """Numbers for names outside of the tree, behind those of its modules, in the order in which they are met."""

    def __init__(self, first: int, names: Sequence[str]) -> None:
        super().__init__((name, number) for number, name in enumerate(names, first))
        self._first = first

    def __missing__(self, name: str) -> int:
        number = self[name] = self._first + len(self)
        return number
