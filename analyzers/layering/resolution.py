"""Which module of the tree, or which name outside of it, an import statement leads to."""

from __future__ import annotations

import sys
from collections.abc import Collection

from analyzers.layering.modules import Modules, pattern_matcher

Target = int | str | None
"""A module of the tree by number, a name outside of it that somebody asked about, or nothing known."""

Reading = tuple[str, str, int, int]
"""Module, name and level of an import statement, and, where it is an entry of a lazy table, a number above 0."""

Found = tuple[int | None, bool]
"""A module, and whether it is the very one that was named rather than the nearest package above it."""


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
        self._paths: dict[tuple[tuple[str, ...], bool], _ImportPath] = {}
        self._folders: dict[str, FolderResolver] = {}

    def folder(self, folder: str) -> FolderResolver:
        """How the import statements of the files in a folder resolve."""
        if folder not in self._folders:
            own = self.modules.root_of(f"{folder}/")
            neighbours = () if self.modules.lies_in_package(folder) else (folder,)
            roots = tuple(dict.fromkeys((own, *self.modules.roots, *neighbours)))
            self._folders[folder] = FolderResolver(self, folder, self.path(roots, relative=False))
        return self._folders[folder]

    def path(self, roots: tuple[str, ...], relative: bool) -> _ImportPath:
        """What is found in these folders, for absolute or for relative imports; shared by all who look there."""
        key = (roots, relative)
        if key not in self._paths:
            self._paths[key] = _ImportPath(self.modules, roots, relative)
        return self._paths[key]

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

    def __init__(self, resolver: Resolver, folder: str, path: _ImportPath) -> None:
        super().__init__()
        self._resolver = resolver
        self._path = path
        self._folder = folder
        self._running = resolver.modules.packages_over(folder)

    def __missing__(self, reading: Reading) -> Target:
        module, name, level, lazy = reading
        if level or lazy:
            found, exact = self._relative(module, name, level or 1)
            if lazy and not level and not exact:
                found, exact = self._path[module, name]
        else:
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
            return None, False
        start = "/".join(parts[: len(parts) - level + 1])
        return self._resolver.path((start,), relative=True)[module, name]


class _ImportPath(dict[tuple[str, str], Found]):
    """Where names lead that are looked up in some folders, in order: (module, name) -> module of the tree.

    A regular package or a module beats a folder without `__init__.py`; such a folder leads to what lies below it but
    is no module itself. Of absolute names, only a module in the first folder beats one of the standard library.
    """

    def __init__(self, modules: Modules, roots: tuple[str, ...], relative: bool) -> None:
        super().__init__()
        self._modules = modules
        self._roots = roots
        self._standard = frozenset() if relative else sys.stdlib_module_names
        self._places: dict[str, tuple[str, ...]] = {"": roots}

    def __missing__(self, reading: tuple[str, str]) -> Found:
        module, name = reading
        exact = self._module_at(self._below(module, name)) if name not in ("", "*") else None
        if exact is None:
            exact = self._module_at(self._locate(module))
        self[reading] = found = self._nearest(module) if exact is None else (exact, True)
        return found

    def _nearest(self, module: str) -> Found:
        while module := module.rpartition(".")[0]:
            nearest = self._module_at(self._locate(module))
            if nearest is not None:
                return nearest, False
        return None, False

    def _locate(self, dotted: str) -> tuple[str, ...]:
        """Where a name stands: at one module, or in every folder of that name."""
        if dotted not in self._places:
            package, _, name = dotted.rpartition(".")
            self._places[dotted] = self._below(package, name)
        return self._places[dotted]

    def _below(self, package: str, name: str) -> tuple[str, ...]:
        parents = self._locate(package)
        if not package and name in self._standard:
            first = self._children(parents[:1], name)
            return first if self._module_at(first) is not None else ()
        if package and parents and self._modules.is_file(parents[0]):
            return ()
        return self._children(parents, name)

    def _children(self, parents: tuple[str, ...], name: str) -> tuple[str, ...]:
        folders = []
        for parent in parents:
            place = f"{parent}/{name}" if parent else name
            if self._modules.at(place) is not None:
                return (place,)
            if self._modules.is_folder(place):
                folders.append(place)
        return tuple(folders)

    def _module_at(self, places: tuple[str, ...]) -> int | None:
        return self._modules.at(places[0]) if places else None
