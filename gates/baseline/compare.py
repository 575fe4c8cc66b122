"""Two states of a baseline: what changed between them, and whether it grew."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from gates.baseline.entries import Baseline, Entry
from gates.baseline.moves import Move, pair
from gates.baseline.waivers import cover, in_force

if TYPE_CHECKING:
    from gates.settings.model import Waiver


class Resized(NamedTuple):
    """An entry that accepts another amount than before."""

    old: Entry
    new: Entry

    @property
    def grown(self) -> bool:
        return self.new.amount > self.old.amount


class Change(NamedTuple):
    """How many entries came, went, moved and changed their amount; a move counts where it ends."""

    added: int = 0
    removed: int = 0
    moved: int = 0
    resized: int = 0


class Diff(Struct, frozen=True):
    """What leads from one state to another; each entry is told once."""

    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    moved: tuple[Move[Entry], ...]
    resized: tuple[Resized, ...]

    def changes(self, key: Callable[[Entry], str]) -> dict[str, Change]:
        """The figures of each rule, file or whatever `key` makes of an entry, sorted by it."""
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(Change._fields))
        arrivals = [move.new for move in self.moved]
        resized = [change.new for change in self.resized]
        for column, entries in enumerate((self.added, self.removed, arrivals, resized)):
            for entry in entries:
                counts[key(entry)][column] += 1
        return {name: Change(*counts[name]) for name in sorted(counts)}


def diff(old: Baseline, new: Baseline) -> Diff:
    """Compare two states; what vanished in one place and appeared in another has moved."""
    pairing = pair(_beyond(old, new), _beyond(new, old))
    return Diff(pairing.appeared, pairing.vanished, pairing.moves, _resized(old, new))


class Verification(Struct, frozen=True):
    """What `verify` found. The baseline stands when nothing in it has `grown`."""

    grown: tuple[Entry, ...]
    waived: tuple[Entry, ...]
    """Added or raised, and covered by a waiver in force."""
    moved: tuple[Move[Entry], ...]
    adopted: bool
    """The base has no such baseline: the first one of a gate cannot have grown."""


def verify(base: Baseline | None, current: Baseline, waivers: Sequence[Waiver], today: datetime.date) -> Verification:
    """Find the entries that grew without leave: added, where a total grew by it, or raised, and not waived.

    Args:
        base: the committed baseline at the merge base; None where it does not exist there.
        current: the baseline to judge.
        waivers: those of the current settings.
        today: the date that decides whether a waiver is in force.
    """
    if base is None:
        return Verification(grown=(), waived=(), moved=(), adopted=True)
    covers = cover(in_force(waivers, today))
    added = _beyond(current, base)
    raised = [change.new for change in _resized(base, current) if change.grown]
    pairing = pair(_beyond(base, current), [entry for entry in added if not covers(entry)])
    return Verification(
        grown=(*pairing.appeared, *(entry for entry in raised if not covers(entry))),
        waived=tuple(entry for entry in (*added, *raised) if covers(entry)),
        moved=pairing.moves,
        adopted=False,
    )


def _beyond(one: Baseline, other: Baseline) -> list[Entry]:
    """The entries that only `one` holds, of whatever amount, in order."""
    held = other.amounts()
    return [entry for entry in one.entries if entry.fingerprint not in held]


def _resized(old: Baseline, new: Baseline) -> tuple[Resized, ...]:
    held = {entry.fingerprint: entry for entry in old.entries}
    pairs = (Resized(held.get(entry.fingerprint, entry), entry) for entry in new.entries)
    return tuple(change for change in pairs if change.old.amount != change.new.amount)
