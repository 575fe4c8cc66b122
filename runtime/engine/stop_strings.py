"""Finds stop strings in text that arrives in pieces.

All stop strings are searched for at once with the automaton of Aho and Corasick ("Efficient string matching", CACM
1975): each character is looked at once, however long the stop strings are and however much they overlap.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class StopMatch(NamedTuple):
    """`stop` was complete after `end` characters of the piece."""

    stop: str
    end: int


class StopMatcher:
    """Follows one text.

    Attributes:
        pending: how many of the last characters may be the beginning of a stop string.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self.pending = 0
        self._state = 0
        self._next: list[dict[str, int]] = [{}]  # by state: the states of one more character
        self._fallback = [0]  # by state: that of its longest proper suffix
        self._complete: list[str | None] = [None]  # by state: the longest stop string that ends here
        self._pending = [0]  # by state: length of its longest suffix that begins a stop string without completing it
        for stop in stops:
            self._add(stop)
        self._link()

    def _add(self, stop: str) -> None:
        state = 0
        for depth, character in enumerate(stop, start=1):
            self._pending[state] = depth - 1
            following = self._next[state].setdefault(character, len(self._next))
            if following == len(self._next):
                self._next.append({})
                self._fallback.append(0)
                self._complete.append(None)
                self._pending.append(0)
            state = following
        self._complete[state] = stop

    def _link(self) -> None:
        """Fill in what a state takes from its suffixes, the shortest states first."""
        queue = deque(self._next[0].values())
        while queue:
            state = queue.popleft()
            suffix = self._fallback[state]
            self._complete[state] = self._complete[state] or self._complete[suffix]
            if not self._next[state]:
                self._pending[state] = self._pending[suffix]
            for character, following in self._next[state].items():
                self._fallback[following] = self._follow(suffix, character)
                queue.append(following)

    def _follow(self, state: int, character: str) -> int:
        while state and character not in self._next[state]:
            state = self._fallback[state]
        return self._next[state].get(character, 0)

    def feed(self, piece: str, may_stop: bool = True) -> StopMatch | None:
        """Read on until the first stop string is complete; of those that end together, the longest is returned.

        Without `may_stop` the piece completes none, but one that begins in it may be completed by a later piece.
        """
        state = self._state
        for end, character in enumerate(piece, start=1):
            state = self._follow(state, character)
            stop = self._complete[state]
            if stop is not None and may_stop:
                return StopMatch(stop, end)
        self._state = state
        self.pending = self._pending[state]
        return None
