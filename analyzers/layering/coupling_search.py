"""Runs a pattern over a text, and where its matches can only begin with certain words, only at those."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import regex

TIMEOUT = 10.0
"""Seconds that one pattern may take on one text; real ones take milliseconds."""

_BLIND_TO_BLANKS = re.compile(
    r"""(?: [\w.|*+?^$/,:;='"@#<>~-] | \\[bdw] | \\[^\w\s] | \((?:\?(?:[im]+\)|:|=|<=))? | \) | \[[\w.:/-]+\]
        | \{[\d,]+\} )*""",
    re.VERBOSE,
)
"""Patterns that never match more because text turned blank."""

_CHOICE = re.compile(
    r"""(?P<folds>\(\?i\))? (?:\\b)? (?P<group>\(\?:)? (?P<choices> (?: [A-Za-z0-9_.|*+?-] | \\[.bdws] )+ )
        (?(group) \) (?:\\b)? )""",
    re.VERBOSE,
)
"""Patterns that are a choice between expressions without groups, sets and anchors."""
_OPENING = re.compile(r"(?:\\b)?((?:[A-Za-z0-9_-]|\\\.){3,})(?![*?])")
"""How an expression begins that matches nothing but what begins with these characters. A shorter beginning stands
in too many places to be worth looking for."""


class Openings(NamedTuple):
    """What each match of a pattern begins with: one of some literals."""

    literals: tuple[str, ...]
    folds: bool
    """Whether in any case; then the literals are in lower case."""

    def offsets(self, text: str) -> list[int]:
        """Where the literals stand, in order."""
        if self.folds:
            # All that matches an ASCII letter in any case, and stays as long. `lower` alone misses the long s, and
            # makes two characters of the capital i with a dot.
            text = text.replace("\u017f", "s").replace("\u0130", "i").lower()
        return sorted({offset for literal in self.literals for offset in _occurrences(text, literal)})


class Search:
    """One pattern in one text, and in parts of it.

    Raises:
        TimeoutError: from each method, when the pattern takes longer than ten seconds.
    """

    def __init__(self, pattern: str, text: str) -> None:
        self._pattern = pattern
        self._text = text
        openings = openings_of(pattern)
        self._offsets = openings.offsets(text) if openings else None
        """Where a match can begin, in the text and in each part of it; None where that may be anywhere."""

    def is_hopeless(self) -> bool:
        """Whether the pattern certainly finds nothing, even when parts of the text turn blank."""
        if self._offsets is not None:
            return not self._offsets
        blind = _BLIND_TO_BLANKS.fullmatch(self._pattern)
        return blind is not None and not _compiled(self._pattern).search(self._text, timeout=TIMEOUT)

    def spans(self, part: str) -> Iterator[tuple[int, int]]:
        """The span of every match, as `finditer` gives them, in the text or with parts of it turned blank."""
        pattern = _compiled(self._pattern)
        if self._offsets is not None:
            yield from _spans_at(self._offsets, pattern, part)
        else:
            yield from (match.span() for match in pattern.finditer(part, timeout=TIMEOUT))


def _spans_at(offsets: Iterable[int], pattern: regex.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The spans of the matches that begin at the offsets and do not overlap."""
    deadline = monotonic() + TIMEOUT
    end = 0
    for offset in offsets:
        if offset < end:
            continue
        match = pattern.match(text, offset, timeout=max(deadline - monotonic(), 0.001))
        if match:
            end = match.end()
            yield offset, end


def _occurrences(text: str, literal: str) -> Iterator[int]:
    offset = text.find(literal)
    while offset >= 0:
        yield offset
        offset = text.find(literal, offset + 1)


@cache
def openings_of(pattern: str) -> Openings | None:
    """What a pattern's matches begin with; None where that cannot be told, or is too short."""
    choice = _CHOICE.fullmatch(pattern)
    if not choice:
        return None
    found = [_OPENING.match(expression) for expression in choice["choices"].split("|")]
    literals = tuple(match[1].replace("\\", "") for match in found if match)
    if len(literals) < len(found):
        return None
    folds = choice["folds"] is not None
    return Openings(tuple(map(str.lower, literals)) if folds else literals, folds)


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern)
