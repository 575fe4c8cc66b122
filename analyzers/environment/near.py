"""Registered names that a name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_SHORTEST = 4
"""Letters of the word that differs: `TP` and `PP`, or `CPU` and `GPU`, are no typing errors."""


class NearNames:
    """Finds names at an edit distance of one: a character too many, too few, or another one.

    Such an edit leaves the first or the second half of a registered name as it is.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._starts: dict[tuple[int, str], list[str]] = {}
        """The names by their length and their first half."""
        self._ends: dict[tuple[int, str], list[str]] = {}
        for name in sorted(names):
            half = len(name) // 2
            self._starts.setdefault((len(name), name[:half]), []).append(name)
            self._ends.setdefault((len(name), name[half:]), []).append(name)

    def near(self, name: str) -> str:
        """The first of the names at distance one; empty where there is none. `_V1` and `_V2` are no typing errors."""
        return min((known for known in self._alike(name) if _is_one_edit(name, known)), default="")

    def _alike(self, name: str) -> Iterator[str]:
        for length in range(len(name) - 1, len(name) + 2):
            half = length // 2
            yield from self._starts.get((length, name[:half]), ())
            yield from self._ends.get((length, name[len(name) - (length - half) :]), ())


def _word_length(name: str, index: int) -> int:
    """How many characters the word between underscores has that covers an index."""
    return len(name[:index].rpartition("_")[2]) + len(name[index:].partition("_")[0])


def _is_one_edit(name: str, other: str) -> bool:
    if abs(len(name) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, other_rest = name[start:], other[start:]
    if (rest[:1] + other_rest[:1]).isdigit() or max(_word_length(name, start), _word_length(other, start)) < _SHORTEST:
        return False
    return rest[1:] == other_rest[1:] or rest[1:] == other_rest or rest == other_rest[1:]
