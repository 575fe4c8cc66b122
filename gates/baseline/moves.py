"""Debt that only changed its place: what vanished paired with what appeared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from posixpath import basename
from typing import Generic, TypeVar

from msgspec import Struct

from analyzers.finding import Violation
from gates.baseline.entries import Entry

Place = TypeVar("Place", bound=Violation)


class Move(Struct, Generic[Place], frozen=True):
    """One violation, of one rule and subject and not larger, that stands in another place than before."""

    old: Entry
    new: Place


class Pairing(Struct, Generic[Place], frozen=True):
    """Each violation is in one move or among those that found no partner."""

    moves: tuple[Move[Place], ...]
    vanished: tuple[Entry, ...]
    appeared: tuple[Place, ...]


_LIKENESSES: tuple[Callable[[Violation], Hashable], ...] = (
    lambda violation: (violation.path,),
    lambda violation: (basename(violation.path), violation.symbol),
    lambda violation: (violation.symbol,),
    lambda violation: (),
)
"""From a renamed function over a moved file and a moved function to a mere likeness of rule and subject."""


def pair(vanished: Iterable[Entry], appeared: Iterable[Place]) -> Pairing[Place]:
    """Pair violations of the same rule and subject one to one, the most alike first; none may grow by it.

    Of those that are equally alike the largest are paired first, which leaves the fewest without a partner. Where
    none has an amount, the likenesses decide only which are paired, not how many.
    """
    moves: list[Move[Place]] = []
    free = sorted(vanished, key=lambda entry: -entry.amount)
    homeless = sorted(appeared, key=lambda violation: -violation.amount)
    for likeness in _LIKENESSES:
        if not (free and homeless):
            break
        free, homeless = _pair_alike(free, homeless, likeness, moves)
    moves.sort(key=lambda move: Entry.of(move.new))
    return Pairing(tuple(moves), tuple(sorted(free)), tuple(sorted(homeless, key=Entry.of)))


def _pair_alike(
    vanished: list[Entry],
    appeared: list[Place],
    likeness: Callable[[Violation], Hashable],
    moves: list[Move[Place]],
) -> tuple[list[Entry], list[Place]]:
    """Add to `moves` what agrees in rule, subject and likeness; return the rest, each in its order."""
    candidates: defaultdict[Hashable, list[Entry]] = defaultdict(list)
    for entry in reversed(vanished):
        candidates[entry.rule, entry.subject, likeness(entry)].append(entry)
    homeless = []
    for violation in appeared:
        alike = candidates.get((violation.rule, violation.subject, likeness(violation)))
        if alike and alike[-1].amount >= violation.amount:
            moves.append(Move(alike.pop(), violation))
        else:
            homeless.append(violation)
    free = {entry for alike in candidates.values() for entry in alike}
    return [entry for entry in vanished if entry in free], homeless
