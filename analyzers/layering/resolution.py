"""Which module of the tree, or which name outside of it, an import statement leads to."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from analyzers.layering.modules import Modules, pattern_matcher

Target = int | str | None
"""A module of the tree by number, a name outside of it that somebody asked about, or nothing known."""


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
        self._modules = modules
        self._externals = _Externals(externals)
        self._paths: dict[tuple[tuple[str, ...], bool], _ImportPath] = {}
        self._origins: dict[tuple[tuple[_ImportPath, ...], bool], Origins] = {}
        self._folders: dict[str, FolderResolver] = {}

    def folder(self, folder: str) -> FolderResolver:
        """How the import statements of the files in a folder resolve."""
        if folder not in self._folders:
            self._folders[folder] = FolderResolver(self, folder)
        return self._folders[folder]

    def absolute(self, folder: str) -> _ImportPath:
        """Where the absolute imports of the files in a folder are looked up."""
        return self._path(self._modules.import_path(folder), relative=False)

    def relative(self, folder: str, level: int) -> tuple[_ImportPath, ...]:
        """Where names with leading dots are looked up; nowhere, if the dots lead out of the tree."""
        parts = folder.split("/") if folder else []
        if level - 1 > len(parts):
            return ()
        return (self._path(("/".join(parts[: len(parts) - level + 1]),), relative=True),)

    def origins(self, paths: tuple[_ImportPath, ...], lazy: bool) -> Origins:
        """What the modules are that statements import from; shared by all who look in the same places."""
        key = (paths, lazy)
        if key not in self._origins:
            absolute = not all(path.relative for path in paths)
            self._origins[key] = Origins(paths, self._externals if absolute else _Externals(()), lazy)
        return self._origins[key]

    def _path(self, roots: tuple[str, ...], relative: bool) -> _ImportPath:
        key = (roots, relative)
        if key not in self._paths:
            self._paths[key] = _ImportPath(self._modules, *key)
        return self._paths[key]


class FolderResolver(dict[tuple[int, int], "Origins"]):
    """Where the import statements in the files of one folder lead, by their level and, where they are entries of a
    lazy table, a number above 0: `resolver.folder("a/b")[level, lazy][module][name]`.

    An entry of a lazy table may be relative to the folder even at level 0.
    """

    def __init__(self, resolver: Resolver, folder: str) -> None:
        super().__init__()
        self._resolver = resolver
        self._folder = folder

    def in_tree(self, module: str) -> bool:
        """Whether an absolute import of the module leads into the tree."""
        names = self[0, 0][module]
        return names.held or names.nearest is not None

    def __missing__(self, standing: tuple[int, int]) -> Origins:
        level, lazy = standing
        near = self._resolver.relative(self._folder, level or 1) if level or lazy else ()
        far = () if level else (self._resolver.absolute(self._folder),)
        origins = self[standing] = self._resolver.origins(near + far, lazy != 0)
        return origins


class Origins(dict[str, "Names"]):
    """The modules that statements import from, by what the statements call them."""

    def __init__(self, paths: tuple[_ImportPath, ...], externals: _Externals, lazy: bool) -> None:
        super().__init__()
        self.paths = paths
        self.externals = externals
        self.lazy = lazy

    def __missing__(self, module: str) -> Names:
        names = self[module] = Names(self, module)
        return names


class Names(dict[str, Target]):
    """What the names lead to that are taken from one module, each looked up once; "" stands for the module itself.

    `from a import b` leads to the module `a.b` where there is one, and else to `a`. What the tree ought to hold and
    does not (a compiled or generated module) leads to the nearest package above it that exists; an entry of a lazy
    table counts only where it is exact.
    """

    def __init__(self, origins: Origins, module: str) -> None:
        super().__init__()
        self._module = module
        self._externals = origins.externals
        self._found = [(path, places) for path in origins.paths if (places := path.locate(module))]
        self.held = bool(self._found)
        """Whether the tree has such a module, or a folder of its name."""
        nearest = () if origins.lazy else (path.nearest(module) for path in origins.paths)
        self.nearest = next((number for number in nearest if number is not None), None)
        """The package that stands for what is not found. It runs already if the importer lies below it too."""
        self.matter = self.held or self.nearest is not None or self._externals.may_name(module)
        """Whether any name may lead anywhere."""
        self._sole = self._found[0][0].file(self._found[0][1]) if self._found and len(origins.paths) == 1 else None
        """The module, where it is a single file: then every name leads to it."""

    def all_of(self, names: str) -> tuple[int | str, ...]:
        """The targets of some names, separated by spaces, each once; of the module itself where there are none."""
        if self._sole is not None:
            return (self._sole,)
        found = dict.fromkeys([self[name] for name in names.split(" ")])
        return tuple([target for target in found if target is not None])

    def __missing__(self, name: str) -> Target:
        found = (path.find(places, name) for path, places in self._found)
        target: Target = next((number for number in found if number is not None), self.nearest)
        if target is None:
            target = self._externals.named(self._module, name)
        self[name] = target
        return target


class _Externals:
    """The names outside of the tree that matter to anybody."""

    def __init__(self, patterns: Collection[str]) -> None:
        self._patterns = frozenset(patterns)
        self._cover = pattern_matcher(patterns)

    def named(self, module: str, name: str) -> str | None:
        """What of it matters: `a.b` of `from a import b` where a pattern says so, and else `a`."""
        longer = f"{module}.{name}"
        if longer in self._patterns:
            return longer
        return module if self._cover(module) else None

    def may_name(self, module: str) -> bool:
        """Whether the module may matter, or something that is taken from it."""
        return self._cover(module) or any(pattern.startswith(f"{module}.") for pattern in self._patterns)


class _ImportPath:
    """Some folders in which names are looked up, in order.

    A regular package or a module beats a folder without `__init__.py`; such a folder leads to what lies below it but
    is no module itself. Of absolute names, only a module in the first folder beats one of the standard library.
    """

    def __init__(self, modules: Modules, roots: tuple[str, ...], relative: bool) -> None:
        self.relative = relative
        self._modules = modules
        self._standard = frozenset() if relative else sys.stdlib_module_names
        self._places: dict[str, tuple[str, ...]] = {"": roots}

    def find(self, places: Sequence[str], name: str) -> int | None:
        """The module that `from module import name` leads to; `places` are what `locate` says of the module."""
        if name in ("", "*") or self._modules.is_file(places[0]):
            return self._modules.at(places[0])
        below = self._module_at(self._children(places, name))
        return self._modules.at(places[0]) if below is None else below

    def file(self, places: Sequence[str]) -> int | None:
        """The module that stands at what `locate` says, if it is a single file."""
        return self._modules.at(places[0]) if self._modules.is_file(places[0]) else None

    def nearest(self, module: str) -> int | None:
        """The nearest package above a module that the tree does not hold; None where it holds the module."""
        if self._module_at(self.locate(module)) is not None:
            return None
        while module := module.rpartition(".")[0]:
            nearest = self._module_at(self.locate(module))
            if nearest is not None:
                return nearest
        return None

    def locate(self, dotted: str) -> tuple[str, ...]:
        """Where a name stands: at one module, or in every folder of that name."""
        if dotted not in self._places:
            package, _, name = dotted.rpartition(".")
            self._places[dotted] = self._below(package, name)
        return self._places[dotted]

    def _below(self, package: str, name: str) -> tuple[str, ...]:
        parents = self.locate(package)
        if not package and name in self._standard:
            first = self._children(parents[:1], name)
            return first if self._module_at(first) is not None else ()
        if package and parents and self._modules.is_file(parents[0]):
            return ()
        return self._children(parents, name)

    def _children(self, parents: Sequence[str], name: str) -> tuple[str, ...]:
        folders = []
        for parent in parents:
            place = f"{parent}/{name}" if parent else name
            if self._modules.at(place) is not None:
                return (place,)
            if self._modules.is_folder(place):
                folders.append(place)
        return tuple(folders)

    def _module_at(self, places: Sequence[str]) -> int | None:
        return self._modules.at(places[0]) if places else None
