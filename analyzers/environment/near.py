"""Registered names that a name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_SHORTEST = 4
"""Letters of a word in which another letter is a typing error: `TP` and `PP`, or `CPU` and `GPU`, are two names."""


class NearNames:
    """Finds names at an edit distance of one: a character too many, too few, another one, or two that changed places.

    Such an edit leaves the first half of a registered name as it is, or what follows the character after that.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._starts: dict[tuple[int, str], list[str]] = {}
        """The names by their length and their first half."""
        self._ends: dict[tuple[int, str], list[str]] = {}
        for name in sorted(names):
            half = len(name) // 2
            self._starts.setdefault((len(name), name[:half]), []).append(name)
            self._ends.setdefault((len(name), name[half + 1 :]), []).append(name)

    def near(self, name: str) -> str:
        """The first of the names at distance one; empty where there is none. `_V1` and `_V2` are two names."""
        return min((known for known in self._alike(name) if name != known and _is_one_edit(name, known)), default="")

    def _alike(self, name: str) -> Iterator[str]:
        for length in range(len(name) - 1, len(name) + 2):
            half = length // 2
            yield from self._starts.get((length, name[:half]), ())
            yield from self._ends.get((length, name[len(name) - (length - half - 1) :]), ())


def _word_length(name: str, index: int) -> int:
    """How many characters the word between underscores has that covers an index."""
    return len(name[:index].rpartition("_")[2]) + len(name[index:].partition("_")[0])


def _is_one_edit(name: str, other: str) -> bool:
    start = next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, other_rest = name[start:], other[start:]
    if len(name) != len(other):
        longer, shorter = sorted((rest, other_rest), key=len, reverse=True)
        return longer[1:] == shorter and not longer[0].isdigit()
    if (rest[0] + other_rest[0]).isdigit():
        return False
    if rest[2:] == other_rest[2:] and rest[:2] == other_rest[1::-1]:
        return True
    return rest[1:] == other_rest[1:] and max(_word_length(name, start), _word_length(other, start)) >= _SHORTEST
