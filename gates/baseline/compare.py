"""Two states of a baseline: what changed between them, and whether it grew."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gates.baseline.entries import Baseline, Entry
from gates.baseline.moves import Move, pair
from gates.baseline.waivers import cover, in_force

if TYPE_CHECKING:
    from gates.settings.model import Waiver


class Change(NamedTuple):
    """How many entries came, went and moved; a move counts where it ends."""

    added: int = 0
    removed: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True)
class Diff:
    """What leads from one state to another; a move is in neither of the other two."""

    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    moved: tuple[Move[Entry], ...]

    def changes(self, key: Callable[[Entry], str]) -> dict[str, Change]:
        """The figures of each rule, file or whatever `key` makes of an entry, sorted by it."""
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        arrivals = [move.new for move in self.moved]
        for column, entries in enumerate((self.added, self.removed, arrivals)):
            for entry in entries:
                counts[key(entry)][column] += 1
        return {name: Change(*counts[name]) for name in sorted(counts)}


def diff(old: Baseline, new: Baseline) -> Diff:
    """Compare two states; what vanished in one place and appeared in another has moved."""
    vanished, appeared = _difference(old, new), _difference(new, old)
    pairing = pair(vanished, appeared)
    return Diff(pairing.appeared, pairing.vanished, pairing.moves)


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found. The baseline stands when nothing in it has `grown`."""

    grown: tuple[Entry, ...]
    waived: tuple[Entry, ...]
    """Added, and covered by a waiver in force."""
    moved: tuple[Move[Entry], ...]
    adopted: bool
    """The base has no such baseline: the first one of a gate cannot have grown."""


def verify(base: Baseline | None, current: Baseline, waivers: Sequence[Waiver], today: datetime.date) -> Verification:
    """Find the entries that `current` holds without leave: a total that did not grow, or a waiver in force.

    Args:
        base: the committed baseline at the merge base; None where it does not exist there.
        current: the baseline to judge.
        waivers: those of the current settings.
        today: the date that decides whether a waiver is in force.
    """
    if base is None:
        return Verification(grown=(), waived=(), moved=(), adopted=True)
    covers = cover(in_force(waivers, today))
    added = _difference(current, base)
    waived = tuple(entry for entry in added if covers(entry))
    pairing = pair(_difference(base, current), [entry for entry in added if not covers(entry)])
    return Verification(pairing.appeared, waived, pairing.moves, adopted=False)


def _difference(one: Baseline, other: Baseline) -> list[Entry]:
    """The entries that only `one` holds, in order."""
    held = set(other.entries)
    return [entry for entry in one.entries if entry not in held]
