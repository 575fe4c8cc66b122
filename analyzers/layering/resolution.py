"""Which module of the tree, or which name outside of it, an import statement leads to."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from analyzers.layering.modules import Modules, pattern_matcher

Target = int | str | None
"""A module of the tree by number, a name outside of it that somebody asked about, or nothing known."""

Reading = tuple[str, str, int, bool]
"""Module, name and level of an import statement, and whether it is an entry of a lazy table."""


class Resolver:
    """Resolves import statements without running them, by the rules of Python's path finder.

    The import path is the importer's own source root, then the other roots in order, then the importer's own folder
    where no package holds it (a script sees its neighbours). A regular package or a module beats a folder without
    `__init__.py`; such a folder leads to what lies below it but is no module itself. Only a module at the importer's
    own root can stand before one of the standard library.
    """

    def __init__(self, modules: Modules, externals: Collection[str]) -> None:
        """Prepare to resolve.

        Args:
            modules: the modules of the tree.
            externals: patterns of the names outside of the tree that matter to anybody.
        """
        self.modules = modules
        self._externals = frozenset(externals)
        self._is_external = pattern_matcher(externals)

    def external(self, module: str, name: str) -> str | None:
        """The name outside of the tree, if it matters: `a.b` of `from a import b` where a pattern says so."""
        longer = f"{module}.{name}"
        if longer in self._externals:
            return longer
        return module if self._is_external(module) else None

    def starts(self, folder: str, top: str) -> tuple[str, ...]:
        """Where a top-level name stands for files of a folder: at one module, or in every folder of that name."""
        modules = self.modules
        own = modules.root_of(f"{folder}/")
        standard = top in sys.stdlib_module_names
        folders = []
        for root in (own,) if standard else dict.fromkeys((own, *modules.roots)):
            place = _join(root, top)
            if modules.at(place) is not None:
                return (place,)
            if modules.is_folder(place) and not standard:
                folders.append(place)
        neighbour = _join(folder, top)
        if modules.at(neighbour) is not None and not (standard or modules.lies_in_package(folder)):
            return (neighbour,)
        return tuple(folders)


class FolderResolver(dict[Reading, Target]):
    """What the import statements of the files in one folder lead to; each reading is resolved once.

    `from a import b` leads to the module `a.b` where there is one, and else to `a`. What the tree ought to hold and
    does not (a compiled or generated module) leads to the nearest package above it that exists, unless the importer
    lies below that package too. An entry of a lazy table may be relative to the folder, and counts only where it is
    exact.
    """

    def __init__(self, resolver: Resolver, folder: str) -> None:
        super().__init__()
        self._resolver = resolver
        self._folder = folder
        self._starts: dict[str, tuple[str, ...]] = {}

    def __missing__(self, reading: Reading) -> Target:
        module, name, level, lazy = reading
        target = self._relative(module, name, level, lazy) if level else self._absolute(module, name, lazy)
        self[reading] = target
        return target

    def _relative(self, module: str, name: str, level: int, lazy: bool) -> Target:
        parts = self._folder.split("/") if self._folder else []
        if level - 1 > len(parts):
            return None
        start = "/".join(parts[: len(parts) - level + 1])
        return self._below((start,), module.replace(".", "/"), name, exact=lazy)

    def _absolute(self, module: str, name: str, lazy: bool) -> Target:
        if lazy:
            target = self._below((self._folder,), module.replace(".", "/"), name, exact=True)
            if target is not None:
                return target
        top, _, rest = module.partition(".")
        starts = self._starts.get(top)
        if starts is None:
            starts = self._starts[top] = self._resolver.starts(self._folder, top)
        target = self._below(starts, rest.replace(".", "/"), name, exact=lazy) if starts else None
        return self._resolver.external(module, name) if target is None else target

    def _below(self, starts: Sequence[str], rest: str, name: str, exact: bool) -> int | None:
        at = self._resolver.modules.at
        places = [_join(start, rest) for start in starts]
        for place in (*(_join(place, name) for place in places), *places) if name != "*" else places:
            found = at(place)
            if found is not None:
                return found
        return None if exact else self._nearest(starts, rest)

    def _nearest(self, starts: Sequence[str], rest: str) -> int | None:
        while rest:
            rest = rest.rpartition("/")[0]
            for start in starts:
                place = _join(start, rest)
                found = self._resolver.modules.at(place)
                if found is not None:
                    return None if _holds(place, self._folder) else found
        return None


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _holds(place: str, folder: str) -> bool:
    return not place or folder == place or folder.startswith(f"{place}/")
