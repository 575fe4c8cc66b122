"""The modules of a tree: which file has which dotted name.

Every Python file is a module, also below folders without `__init__.py` and outside of packages. Names follow
Python's import path: a *source root* is a folder that the path may hold, and a module's name is its place below
the nearest one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

_ROOT_NAMES = frozenset({"src", "python"})
"""Folders that projects put on the import path by custom, whether or not they hold a regular package."""


def pattern_expression(pattern: str) -> str:
    """The regular expression of a dotted name in which `*` stands for one segment."""
    return re.escape(pattern).replace(r"\*", "[^.]+")


def pattern_matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A predicate on dotted names: is the name, or one that it lies below, what any of the patterns says?"""
    patterns = tuple(patterns)
    if not any("*" in pattern for pattern in patterns):
        prefixes = tuple(f"{pattern}." for pattern in patterns)
        return lambda name: f"{name}.".startswith(prefixes)
    index = pattern_index(patterns)
    return lambda name: index(name) is not None


def pattern_index(patterns: Iterable[str]) -> Callable[[str], int | None]:
    """A function on dotted names: which is the first of the patterns that covers the name? None where none does."""
    expressions = [f"({pattern_expression(pattern)})" for pattern in patterns]
    compiled = re.compile(rf"(?:{'|'.join(expressions)})(?:\..*)?" if expressions else "(?!)", re.DOTALL)

    def index(name: str) -> int | None:
        match = compiled.fullmatch(name)
        return match.lastindex - 1 if match and match.lastindex else None

    return index


def detect_source_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders that Python's import path plausibly starts from; the root of the tree ("") comes first.

    These are the root itself, the parent of every topmost package (a folder with `__init__.py` below none with
    one), and folders named `src` or `python` outside of packages.
    """
    paths = list(paths)
    packages = {_parent(path) for path in paths if _is_package_file(path)}
    roots = {""}
    for folder in {_parent(path) for path in paths}:
        for ancestor in reversed([folder, *_ancestors(folder)]):
            if ancestor in packages:
                roots.add(_parent(ancestor))
                break
            if ancestor.rpartition("/")[2] in _ROOT_NAMES:
                roots.add(ancestor)
    return tuple(sorted(roots, key=lambda root: (root.count("/") + bool(root), root)))


class Modules:
    """Every Python file of a tree, as a number into `paths` and `names`."""

    def __init__(self, paths: Iterable[str], source_roots: Sequence[str] = ()) -> None:
        """Take in the files.

        Args:
            paths: POSIX paths relative to the root of the tree; what does not end in `.py` is passed over.
            source_roots: folders, relative to the root, in the order of the import path; detected where empty.
        """
        self.paths: tuple[str, ...] = tuple(sorted({path for path in paths if path.endswith(".py")}))
        given = tuple("" if root in (".", "./") else root.strip("/") for root in source_roots)
        self.roots: tuple[str, ...] = given or detect_source_roots(self.paths)
        self._by_place = {_place(path): number for number, path in enumerate(self.paths)}
        """Of `a.py` and `a/__init__.py`, which sorts behind it, the package stays, as on Python's import path."""
        self._over: dict[str, tuple[int, ...]] = {}
        self._root_of: dict[str, str] = {}
        self.names: tuple[str, ...] = tuple(self._name(path) for path in self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def number(self) -> dict[str, int]:
        """Path -> number."""
        return {path: number for number, path in enumerate(self.paths)}

    @cached_property
    def packages_above(self) -> tuple[tuple[int, ...], ...]:
        """For each module the packages that run before it because it lies below them, nearest first."""
        return tuple(self.packages_over(_parent(_place(path))) for path in self.paths)

    def packages_over(self, folder: str) -> tuple[int, ...]:
        """The packages among this folder and those above it, nearest first."""
        if not folder:
            return ()
        if folder not in self._over:
            number = self._by_place.get(folder)
            own = (number,) if number is not None and _is_package_file(self.paths[number]) else ()
            self._over[folder] = own + self.packages_over(_parent(folder))
        return self._over[folder]

    def import_path(self, folder: str) -> tuple[str, ...]:
        """The folders in which absolute imports of the files in a folder are looked up, in order.

        These are its own source root, the other roots, and then, where no package holds it, the folder itself: a
        script sees its neighbours.
        """
        neighbours = () if self.packages_over(folder) else (folder,)
        return tuple(dict.fromkeys((self.root_of(folder), *self.roots, *neighbours)))

    def at(self, place: str) -> int | None:
        """The module at a path without `.py` or `/__init__.py`; a package beats a file of the same name."""
        return self._by_place.get(place)

    def is_file(self, place: str) -> bool:
        """Whether the module at this path is a single file, below which there can be none."""
        number = self._by_place.get(place)
        return number is not None and not _is_package_file(self.paths[number])

    def is_folder(self, place: str) -> bool:
        """Whether Python files lie somewhere below this path."""
        return place in self._folders

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in self.paths:
            folder = _parent(path)
            while folder and folder not in folders:
                folders.add(folder)
                folder = _parent(folder)
        return frozenset(folders)

    def root_of(self, folder: str) -> str:
        """The longest source root that a folder is or lies below; the root of the tree where there is none."""
        if folder not in self._root_of:
            holding = (root for root in self.roots if not root or f"{folder}/".startswith(f"{root}/"))
            self._root_of[folder] = max(holding, key=len, default="")
        return self._root_of[folder]

    def _name(self, path: str) -> str:
        root = self.root_of(_parent(path))
        place = _place(path)
        return place[len(root) :].strip("/").replace("/", ".") or "__init__"


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _ancestors(folder: str) -> Iterator[str]:
    while folder:
        folder = _parent(folder)
        if folder:
            yield folder


def _is_package_file(path: str) -> bool:
    return path == "__init__.py" or path.endswith("/__init__.py")


def _place(path: str) -> str:
    """The path without `.py` or `/__init__.py`: what an import statement can say."""
    return _parent(path) if _is_package_file(path) else path.removesuffix(".py")
