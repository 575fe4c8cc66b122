"""Which module of the tree, or which name outside of it, an import statement leads to."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from analyzers.layering.modules import Modules, pattern_matcher

Target = int | str | None
"""A module of the tree by number, a name outside of it that somebody asked about, or nothing known."""

Reading = tuple[str, str, int, int]
"""Module, name and level of an import statement, and, where it is an entry of a lazy table, a number above 0."""

Found = tuple[int | None, bool]
"""A module, and whether it is the very one that was named rather than the nearest package above it."""

_NOT_FOUND: Found = (None, False)


class Resolver:
    """Resolves import statements without running them, by the rules of Python's path finder.

    The import path is the importer's own source root, then the other roots in order, then the importer's own folder
    where no package holds it (a script sees its neighbours).
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
        self._paths: dict[tuple[str, ...], _ImportPath] = {}
        self._folders: dict[str, FolderResolver] = {}

    def folder(self, folder: str) -> FolderResolver:
        """How the import statements of the files in a folder resolve."""
        if folder not in self._folders:
            own = self.modules.root_of(f"{folder}/")
            neighbours = () if self.modules.lies_in_package(folder) else (folder,)
            roots = tuple(dict.fromkeys((own, *self.modules.roots, *neighbours)))
            path = self._paths.setdefault(roots, _ImportPath(self.modules, roots))
            self._folders[folder] = FolderResolver(self, path, folder)
        return self._folders[folder]

    def external(self, module: str, name: str) -> str | None:
        """The name outside of the tree, if it matters: `a.b` of `from a import b` where a pattern says so."""
        longer = f"{module}.{name}"
        if longer in self._externals:
            return longer
        return module if self._is_external(module) else None


class FolderResolver(dict[Reading, Target]):
    """What the import statements of the files in one folder lead to; each reading is resolved once.

    `from a import b` leads to the module `a.b` where there is one, and else to `a`. What the tree ought to hold and
    does not (a compiled or generated module) leads to the nearest package above it that exists, unless the importer
    lies below that package too. An entry of a lazy table may be relative to the folder, and counts only where it is
    exact.
    """

    def __init__(self, resolver: Resolver, path: _ImportPath, folder: str) -> None:
        super().__init__()
        self._resolver = resolver
        self._path = path
        self._folder = folder
        self._running = resolver.modules.packages_over(folder)

    def __missing__(self, reading: Reading) -> Target:
        module, name, level, lazy = reading
        found, exact = self._relative(module, name, level or 1) if level or lazy else self._path[module, name]
        if lazy and not level and not exact:
            found, exact = self._path[module, name]
        if found is None or (lazy and not exact):
            target: Target = None if level else self._resolver.external(module, name)
        else:
            target = found if exact or found not in self._running else None
        self[reading] = target
        return target

    def _relative(self, module: str, name: str, level: int) -> Found:
        parts = self._folder.split("/") if self._folder else []
        if level - 1 > len(parts):
            return _NOT_FOUND
        start = "/".join(parts[: len(parts) - level + 1])
        return _below(self._resolver.modules, (start,), module.replace(".", "/"), name)


class _ImportPath(dict[tuple[str, str], Found]):
    """Where absolute names lead along one import path: (module, name) -> module of the tree.

    A regular package or a module beats a folder without `__init__.py`; such a folder leads to what lies below it but
    is no module itself. Only a module at the first root can stand before one of the standard library.
    """

    def __init__(self, modules: Modules, roots: tuple[str, ...]) -> None:
        super().__init__()
        self._modules = modules
        self._roots = roots
        self._starts: dict[str, tuple[str, ...]] = {}

    def __missing__(self, reading: tuple[str, str]) -> Found:
        module, name = reading
        top, _, rest = module.partition(".")
        if top not in self._starts:
            self._starts[top] = self._find(top)
        starts = self._starts[top]
        found = _below(self._modules, starts, rest.replace(".", "/"), name) if starts else _NOT_FOUND
        self[reading] = found
        return found

    def _find(self, top: str) -> tuple[str, ...]:
        """Where a top-level name stands: at one module, or in every folder of that name."""
        standard = top in sys.stdlib_module_names
        folders = []
        for root in self._roots[:1] if standard else self._roots:
            place = _join(root, top)
            if self._modules.at(place) is not None:
                return (place,)
            if self._modules.is_folder(place):
                folders.append(place)
        return () if standard else tuple(folders)


def _below(modules: Modules, starts: Sequence[str], rest: str, name: str) -> Found:
    """The module `name` of the package `rest`, or that package, or the nearest one above it; below some start."""
    places = [_join(start, rest) for start in starts]
    if name != "*":
        places = [*(_join(place, name) for place in places), *places]
    for place in places:
        found = modules.at(place)
        if found is not None:
            return found, True
    while rest:
        rest = rest.rpartition("/")[0]
        for start in starts:
            found = modules.at(_join(start, rest))
            if found is not None:
                return found, False
    return _NOT_FOUND


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name
