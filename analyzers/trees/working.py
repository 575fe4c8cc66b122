"""The working tree: files on disk, found with git where there is a repository and by walking where there is none."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from analyzers.cache import FactCache, FileState
from analyzers.source import Problem
from analyzers.trees.git import GitListing, repository_of
from analyzers.trees.tree import Tree, TreeError, blob_digest, lies_below, symlink_problem

_SETTLED_NS = 2_000_000_000
"""A file touched less than this long ago may change again without a sign of it."""


class WorkingTree(Tree):
    """Files on disk. Content digests are remembered in the cache for as long as a file's state does not change."""

    def __init__(
        self,
        root: Path,
        cache: FactCache | None = None,
        also: Iterable[str] = (),
        listing: GitListing | None = None,
    ) -> None:
        """Look at the files below a folder.

        Args:
            root: the folder.
            cache: remembers digests.
            also: files that belong to the tree although discovery leaves them out.
            listing: git's list of the folder, where it has been begun.

        Raises:
            TreeError: there is no such folder.
        """
        if not root.is_dir():
            raise TreeError(f"{root} is not a folder")
        self.root = root
        self._top = repository_of(root)
        self._cache = cache
        found = _list(root, listing or GitListing(root))
        self.notes = found.notes
        self.problems = dict(found.problems)
        self._states: dict[str, os.stat_result] = {}
        self._broken: dict[str, Problem] = {}
        prefix = os.path.join(root, "")
        for path in {*found.files, *also}:
            self._examine(path, prefix + path)
        unread = (path.rstrip("/") for path in found.files if path not in self._states and path not in self._broken)
        self._foreign = {path for path in unread if (root / path).is_dir()}
        self.paths = sorted((*self._states, *self._broken))

    def _examine(self, path: str, full: str) -> None:
        """Sort one listed path into what can be read, what cannot, and what is no file of the tree."""
        try:
            state = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._broken[path] = _unreadable(error)
            return
        if stat.S_ISREG(state.st_mode):
            self._states[path] = state
        elif stat.S_ISLNK(state.st_mode):
            self._follow(path, full)
        elif not stat.S_ISDIR(state.st_mode):
            self._broken[path] = Problem("SRC001", 0, 0, "not a regular file")

    def _follow(self, path: str, full: str) -> None:
        """A link to a file of this tree is that file; a link to a folder adds nothing: its files stand elsewhere."""
        real = Path(os.path.realpath(full))
        try:
            state = os.stat(full)
        except OSError:
            self._broken[path] = symlink_problem(os.readlink(full))
            return
        inside = real.is_relative_to(os.path.realpath(self.root))
        if stat.S_ISREG(state.st_mode) and inside:
            self._states[path] = state
        elif not (stat.S_ISDIR(state.st_mode) and inside):
            self._broken[path] = symlink_problem(os.readlink(full))

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        remembered = self._cache.states(str(self.root)) if self._cache else {}
        found: dict[str, str] = {}
        fresh: dict[str, str] = {}
        for path in paths:
            if path not in self._states:
                continue
            known = remembered.get(path)
            if known is not None and known.signature == self._signature(path):
                found[path] = known.digest
                continue
            data = self._read(path)
            if isinstance(data, bytes):
                fresh[path] = blob_digest(data)
        self.remember(fresh)
        return found | fresh

    def remember(self, digests: Mapping[str, str]) -> None:
        """Only of files that have settled, so that a change within the clock's grain is not missed."""
        settled_before = time.time_ns() - _SETTLED_NS
        settled = [
            FileState(path, self._signature(path), digest)
            for path, digest in digests.items()
            if max(self._states[path].st_mtime_ns, self._states[path].st_ctime_ns) < settled_before
        ]
        if settled and self._cache:
            self._cache.remember(str(self.root), settled)

    def _signature(self, path: str) -> str:
        state = self._states[path]
        return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}"

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | Problem]]:
        for path in paths:
            yield path, self._read(path)

    def has_elsewhere(self, path: str) -> bool | None:
        full = Path(os.path.normpath(self.root / path))
        if self._top is None or not full.is_relative_to(self._top):
            return None
        return os.path.lexists(full) if path.split("/")[0] == ".." else lies_below(path, self._foreign)

    def on_disk(self, path: str) -> Path | None:
        return None if path in self._broken else self.root / path

    def _read(self, path: str) -> bytes | Problem:
        if path in self._broken:
            return self._broken[path]
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                return file.read()
        except OSError as error:
            return _unreadable(error)

    def __getstate__(self) -> dict[str, object]:
        """Workers read files; the cache and the listing stay with the process that owns them."""
        return {**self.__dict__, "_cache": None, "_states": {}, "paths": ()}


class _Listing(Struct, frozen=True):
    files: list[str]
    notes: tuple[str, ...] = ()
    problems: Mapping[str, Problem] = MappingProxyType({})


def _list(root: Path, listing: GitListing) -> _Listing:
    notes: tuple[str, ...] = ()
    try:
        listed = listing.files
        if listed is not None:
            embedded = [path for path in listed if path.endswith("/")]
            return _Listing(
                listed, tuple(f"{path} is a git repository of its own and was not read" for path in embedded)
            )
    except TreeError as error:
        notes = (f"files were found by walking the folder: {error}",)
    from analyzers.trees.walk import walk

    found = walk(root)
    problems = {
        folder: Problem("SRC001", 0, 0, f"the folder cannot be listed: {reason}")
        for folder, reason in found.unlisted.items()
    }
    return _Listing(found.files, notes, problems)


def _unreadable(error: OSError) -> Problem:
    return Problem("SRC001", 0, 0, f"the file cannot be read: {error.strerror or error}")
