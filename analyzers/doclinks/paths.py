"""The paths of a tree, and which of them lie close to one that does not exist."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import ne
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

    def close_to(self, path: str) -> list[str]:
        """Existing paths that a link to `path` may have meant, the likeliest first: the same name elsewhere, a
        similar name of the same type in the same folder."""
        folder, name = posixpath.split(path)
        elsewhere = self._affordable(self._by_name.get(name, []))
        nearest = sorted(elsewhere, key=lambda other: (-_shared(other, path), len(other), other))
        stem, suffix = posixpath.splitext(name)
        similar = self.close_names(stem, self._stems_in.get((folder, suffix), []))
        return list(dict.fromkeys([*nearest, *(posixpath.join(folder, other + suffix) for other in similar)]))

    def near(self, path: str) -> list[str]:
        """Up to two paths in the same folder that a reader may want to know of, of any type and with any numbers;
        the likeliest first."""
        folder, name = posixpath.split(path)
        stem_of = {other: posixpath.splitext(other)[0] for other in self._affordable(self._names_in.get(folder, []))}
        stems = _similar(posixpath.splitext(name)[0], set(stem_of.values()), NEAR)
        names = _similar(name, [other for other, stem in stem_of.items() if stem in stems], NEAR)
        return [posixpath.join(folder, other) for other in names]

    def close_names(self, name: str, names: Sequence[str]) -> list[str]:
        """The names that `name` may be a misspelling of, the most similar first; none once the work is too much.

        Numbers are no misspellings, `step-3` does not mean `step-2`, and nor are first letters, `cpu` does not mean
        `gpu`.
        """
        kept = _digits(name), name[:1].lower()
        candidates = [other for other in self._affordable(names) if (_digits(other), other[:1].lower()) == kept]
        return _similar(name, candidates, CLOSE) or [other for other in candidates if _one_letter_apart(name, other)]

    def near_names(self, name: str, names: Sequence[str]) -> list[str]:
        """Up to two names that a reader may want to know of, the most similar first."""
        return _similar(name, self._affordable(names), NEAR)

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
    def _names_in(self) -> dict[str, list[str]]:
        return _grouped(posixpath.split(path) for path in (*self.files, *self.folders) if path)

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


def _similar(name: str, names: Iterable[str], cutoff: float) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, names, n=2, cutoff=cutoff) if 0 < len(name) <= _LONGEST else []


def _one_letter_apart(one: str, other: str) -> bool:
    """Which in a short name costs more similarity than `CLOSE` allows."""
    return len(one) == len(other) > 2 and sum(map(ne, one, other)) == 1


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _shared(one: str, other: str) -> int:
    """How many folder names two paths have in common."""
    return len(set(one.split("/")[:-1]) & set(other.split("/")[:-1]))
