"""What every tree of files offers, whatever stands behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha1
from pathlib import Path

from analyzers.errors import UserError
from analyzers.source import Problem


class TreeError(UserError):
    """The tree itself cannot be had: no such folder, no such revision, git is needed and missing."""


class Tree(ABC):
    """The files below one root. Paths are POSIX and relative to the root."""

    root: Path
    paths: Sequence[str]
    """Every file of the tree, sorted; git-ignored files are not part of it."""
    notes: Sequence[str]
    """What a person should know about how the tree was found."""
    problems: Mapping[str, Problem]
    """Folders whose files could not even be listed."""

    @abstractmethod
    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """The content address of each file; a file that cannot be read has none."""

    @abstractmethod
    def remember(self, digests: Mapping[str, str]) -> None:
        """Take note of digests that came of reading files for another reason."""

    @abstractmethod
    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | Problem]]:
        """The bytes of each file, or why there are none, in the order asked for."""

    @abstractmethod
    def has_elsewhere(self, path: str) -> bool | None:
        """Whether the repository has something at a path that is none of this tree's.

        Beside the root that is any file or folder; below it, a submodule or another repository, and all that a path
        into one may lead to.

        Args:
            path: POSIX, relative to the root and normalised, so that it may start with `..`.

        Returns:
            None where the path leaves the repository, or where there is none.
        """

    def on_disk(self, path: str) -> Path | None:
        """The file on disk that this file of the tree is, if it is one."""
        return None

    def read(self, path: str) -> bytes | None:
        """The bytes of one file of the tree; None when there are none to be had."""
        for _, data in self.read_many((path,)):
            return data if isinstance(data, bytes) else None
        return None


def blob_digest(data: bytes) -> str:
    """The address git gives this content, so that a file and its committed twin share one cache entry."""
    return sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def lies_below(path: str, folders: Container[str]) -> bool:
    """Whether a path is one of some folders, or below one."""
    parts = path.split("/")
    return any("/".join(parts[:count]) in folders for count in range(1, len(parts) + 1))


def symlink_problem(target: str) -> Problem:
    return Problem("SRC004", 0, 0, f"the symbolic link leads to {target!r}, which is no file of this tree")
