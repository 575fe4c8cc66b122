"""What a baseline holds: the violations that a team has accepted for now, one entry a site."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Annotated, Self

from msgspec import Meta, Struct
from msgspec.structs import replace

from analyzers.finding import Violation, fingerprints, identity_of

_FIELDS = attrgetter("rule", "path", "symbol", "subject", "fingerprint", "amount")


class Entry(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One accepted violation; the fields mean what they mean in `analyzers.finding.Finding`."""

    rule: str
    path: str
    symbol: str
    subject: str
    fingerprint: str
    amount: Annotated[int, Meta(ge=0)] = 0
    """The largest that is accepted."""

    @classmethod
    def of(cls, violation: Violation) -> Self:
        return cls(*_FIELDS(violation))

    @property
    def title(self) -> str:
        """The entry in one line, for a person."""
        return " ".join(filter(None, identity_of(self)))


class Baseline(Struct, frozen=True):
    """The accepted violations of one gate, sorted; build it with `of`."""

    gate: str
    entries: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, gate: str, entries: Iterable[Entry]) -> Self:
        """Sort the entries and number those of one rule, path, symbol and subject, the largest first, without a gap.

        `identify` numbers today's sites in the same way, from 0. Above a gap, as a merge or an edit by hand may
        leave one, an entry would match none of them.
        """
        entries = list(entries)
        numbered = [
            entry if entry.fingerprint == digest else replace(entry, fingerprint=digest)
            for entry, digest in zip(entries, fingerprints(entries), strict=True)
        ]
        return cls(gate, tuple(sorted(numbered)))

    @classmethod
    def accepting(cls, gate: str, violations: Iterable[Violation]) -> Self:
        """The baseline that accepts violations as they are, all that there are: `identify` has numbered them."""
        return cls(gate, tuple(sorted(map(Entry.of, violations))))

    def amounts(self) -> dict[str, int]:
        """What is accepted: the largest amount of each fingerprint."""
        return {entry.fingerprint: entry.amount for entry in self.entries}
