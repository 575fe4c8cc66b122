"""A tree as git holds it: a revision, or the index. Nothing is checked out."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from analyzers.source import Problem
from analyzers.trees.git import commit_of, read_blobs, repository_of, run_git, split_paths
from analyzers.trees.tree import Tree, lies_below, symlink_problem

_REGULAR = "100"
_SYMLINK = "120000"
_SUBMODULE = "160000"
_ABSENT = Problem("SRC001", 0, 0, "there is no such file")


class _Blob(NamedTuple):
    mode: str
    oid: str


class CommittedTree(Tree):
    """Files whose content is named by git object ids."""

    def __init__(self, root: Path, entries: dict[str, _Blob]) -> None:
        """`entries` are all that the repository holds, relative to the root: those beside it start with `../`."""
        self.root = root
        self._top = repository_of(root)
        self._beside = {path for path in entries if path.startswith("../")}
        self._foreign = {path for path, entry in entries.items() if entry.mode == _SUBMODULE}
        blobs = {path: entry for path, entry in entries.items() if path not in self._beside}
        self.notes = ()
        self.problems = {}
        links = {path: blob.oid for path, blob in blobs.items() if blob.mode == _SYMLINK}
        self._oids = {path: blob.oid for path, blob in blobs.items() if blob.mode.startswith(_REGULAR)}
        self._broken: dict[str, Problem] = {}
        self._follow(links)
        self.paths = sorted((*self._oids, *self._broken))

    def _follow(self, links: dict[str, str]) -> None:
        """Give each symbolic link the content of the file that it leads to."""
        targets = dict(zip(links, read_blobs(self.root, links.values()), strict=True))
        for path in links:
            target, hops = path, 0
            while target in targets and hops < len(links) + 1:
                step = targets[target].decode("utf-8", "surrogateescape")
                target, hops = posixpath.normpath(posixpath.join(posixpath.dirname(target), step)), hops + 1
            if target in self._oids and target not in links:
                self._oids[path] = self._oids[target]
            else:
                self._broken[path] = symlink_problem(targets[path].decode("utf-8", "replace"))

    @classmethod
    def at_revision(cls, root: Path, revision: str) -> Self:
        """The tree of `revision`, below `root`.

        Raises:
            TreeError: no git, no repository, or no such revision.
        """
        return cls(root, _entries(root, "ls-tree", "-r", "-z", "--full-tree", commit_of(root, revision)))

    @classmethod
    def staged(cls, root: Path) -> Self:
        """The index: what the next commit would hold."""
        return cls(root, _entries(root, "ls-files", "--stage", "-z", "--full-name", ":/"))

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._oids[path] for path in paths if path in self._oids}

    def has_elsewhere(self, path: str) -> bool | None:
        if path.split("/")[0] != "..":
            return lies_below(path, self._foreign)
        full = Path(posixpath.normpath(self.root / path))
        if self._top is None or not full.is_relative_to(self._top):
            return None
        inner = "" if full == self.root else posixpath.relpath(full, self.root)
        known = (*self._beside, *self._oids, *self._foreign)
        return not inner or inner in known or any(entry.startswith(f"{inner}/") for entry in known)

    def remember(self, digests: Mapping[str, str]) -> None:
        """Git has named every content already."""

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | Problem]]:
        wanted = list(paths)
        blobs = read_blobs(self.root, [self._oids[path] for path in wanted if path in self._oids])
        for path in wanted:
            yield path, next(blobs) if path in self._oids else self._broken.get(path, _ABSENT)


def _entries(root: Path, *listing: str) -> dict[str, _Blob]:
    """What a listing of the whole repository names, relative to the root."""
    prefix = os.fsdecode(run_git(root, "rev-parse", "--show-prefix").rstrip(b"\n"))
    entries = {}
    for path, blob in map(_parse, split_paths(run_git(root, *listing))):
        if path.startswith(prefix):
            entries[path[len(prefix) :]] = blob
        else:
            entries[posixpath.relpath(path, prefix)] = blob
    return entries


def _parse(entry: str) -> tuple[str, _Blob]:
    """One line of `ls-tree -r` (mode type oid) or of `ls-files --stage` (mode oid stage)."""
    fields, _, path = entry.partition("\t")
    mode, second, third = fields.split()
    return path, _Blob(mode, third if second in ("blob", "commit") else second)
