"""A tree as git holds it: a revision, or the index. Nothing is checked out."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from analyzers.source import Problem
from analyzers.trees.git import commit_of, read_blobs, run_git, split_paths
from analyzers.trees.tree import Tree, symlink_problem

_REGULAR = "100"
_SYMLINK = "120000"


class _Blob(NamedTuple):
    mode: str
    oid: str


class CommittedTree(Tree):
    """Files whose content is named by git object ids."""

    def __init__(self, root: Path, blobs: dict[str, _Blob]) -> None:
        self.root = root
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
        listing = run_git(root, "ls-tree", "-r", "-z", commit_of(root, revision))
        return cls(root, dict(_parse(entry) for entry in split_paths(listing)))

    @classmethod
    def staged(cls, root: Path) -> Self:
        """The index: what the next commit would hold."""
        listing = run_git(root, "ls-files", "--stage", "-z")
        return cls(root, dict(_parse(entry) for entry in split_paths(listing)))

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._oids[path] for path in paths if path in self._oids}

    def remember(self, digests: Mapping[str, str]) -> None:
        """Git has named every content already."""

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | Problem]]:
        wanted = list(paths)
        blobs = read_blobs(self.root, [self._oids[path] for path in wanted if path in self._oids])
        for path in wanted:
            yield path, next(blobs) if path in self._oids else self._broken[path]


def _parse(entry: str) -> tuple[str, _Blob]:
    """One line of `ls-tree -r` (mode type oid) or of `ls-files --stage` (mode oid stage)."""
    fields, _, path = entry.partition("\t")
    mode, second, third = fields.split()
    return path, _Blob(mode, third if second in ("blob", "commit") else second)
