"""The paths of a tree, and which of them lie close to one that does not exist."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TypeVar

_Key = TypeVar("_Key", str, tuple[str, str])

CLOSE = 0.8
"""How similar (difflib's ratio) two names are when one is taken for a misspelling of the other."""

NEAR = 0.6
"""How similar they are when one is worth a mention."""

_COMPARISONS = 10_000
"""Names compared in one run before it stops suggesting: a broken tree costs a second more, not an hour."""

_LONGEST = 200
"""Characters of a name that is still compared."""


class PathIndex:
    """Files of a tree and the folders they imply; "" is the root. Letter case counts on every disk."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files)
        self.folders = {""}
        for path in self.files:
            while (path := posixpath.dirname(path)) not in self.folders:
                self.folders.add(path)
        self._comparisons = _COMPARISONS

    def has(self, path: str, *, folder: bool = False) -> bool:
        """Does the path exist? `folder`: as a folder, because the link ends in a slash."""
        return path in self.folders or (not folder and path in self.files)

    def spelled_otherwise(self, path: str) -> list[str]:
        """The paths that differ from this one in letter case only."""
        return self._by_lower_case.get(path.lower(), [])

    def close_to(self, path: str, similarity: float = CLOSE) -> list[str]:
        """Existing paths that a link to `path` may have meant, the likeliest first: the same name elsewhere, a
        similar name of the same type in the same folder."""
        folder, name = posixpath.split(path)
        elsewhere = self._affordable(self._by_name.get(name, []))
        nearest = sorted(elsewhere, key=lambda other: (-_shared(other, path), len(other), other))
        stem, suffix = posixpath.splitext(name)
        similar = self.close_names(stem, self._stems_in.get((folder, suffix), []), similarity)
        return list(dict.fromkeys([*nearest, *(posixpath.join(folder, other + suffix) for other in similar)]))

    def close_names(self, name: str, names: Sequence[str], similarity: float = CLOSE) -> list[str]:
        """The names that `name` may be a misspelling of, the most similar first; none once the work is too much.

        Numbers are no misspellings: `step-3` does not mean `step-2`.
        """
        if not 0 < len(name) <= _LONGEST:
            return []
        numbers = _digits(name)
        candidates = [other for other in self._affordable(names) if _digits(other) == numbers]
        return get_close_matches(name, candidates, n=2, cutoff=similarity)

    def _affordable(self, names: Sequence[str]) -> Sequence[str]:
        """The names, or none of them once this run has compared enough."""
        if len(names) > self._comparisons:
            return []
        self._comparisons -= len(names)
        return names

    @cached_property
    def _by_lower_case(self) -> dict[str, list[str]]:
        return _grouped((path.lower(), path) for path in (*self.files, *self.folders))

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        return _grouped((posixpath.basename(path), path) for path in self.files)

    @cached_property
    def _stems_in(self) -> dict[tuple[str, str], list[str]]:
        def keyed(path: str) -> tuple[tuple[str, str], str]:
            folder, name = posixpath.split(path)
            stem, suffix = posixpath.splitext(name)
            return (folder, suffix), stem

        return _grouped(keyed(path) for path in (*self.files, *self.folders) if path)


def _grouped(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, list[str]]:
    groups: dict[_Key, list[str]] = {}
    for key, value in sorted(pairs):
        groups.setdefault(key, []).append(value)
    return groups


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _shared(one: str, other: str) -> int:
    """How many folder names two paths have in common."""
    return len(set(one.split("/")[:-1]) & set(other.split("/")[:-1]))
