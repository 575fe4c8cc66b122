"""The ratchet: today's findings against the accepted ones, and the ways in which a baseline may change."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from analyzers.finding import Finding, Violation
from analyzers.rules import RULES as SOURCE_RULES
from analyzers.trees.tree import lies_below
from gates.baseline.entries import Baseline, Entry
from gates.baseline.moves import Move, Pairing, pair
from gates.baseline.waivers import NOTICE, cover, has_expired, idle, in_force

if TYPE_CHECKING:
    from gates.settings.model import Waiver

_OF_SOURCES = frozenset(rule.code for rule in SOURCE_RULES)


class Judgement(Struct, frozen=True):
    """One gate's findings, each in exactly one of `new`, `accepted` and `waived`."""

    baseline: Baseline
    """What was judged against."""
    new: tuple[Finding, ...]
    accepted: tuple[Finding, ...]
    """Findings that the baseline holds with no smaller amount, whether or not a waiver covers them too."""
    waived: tuple[Finding, ...]
    stale: tuple[Entry, ...]
    """Entries that no longer match anything."""
    shrunk: tuple[Entry, ...]
    """Entries that accept a larger amount than there is."""
    unsure: tuple[Entry, ...]
    """Entries that would be stale or shrunk, had every file been read."""
    unread: tuple[str, ...]
    """The files and folders because of which nobody knows."""
    expired: tuple[Waiver, ...]
    expiring: tuple[Waiver, ...]
    """Still in force, but not for longer than `NOTICE`."""
    unused: tuple[Waiver, ...]
    """In force, but covering no finding, as far as files could be read."""


def judge(
    findings: Iterable[Finding],
    baseline: Baseline,
    waivers: Sequence[Waiver],
    today: datetime.date,
    unread: Collection[str] = (),
) -> Judgement:
    """Sort one gate's findings by whether they may stand.

    What is not found in an unread file may well be there. Nor does another file's finding count as gone, for it may
    rest on what the unread one says; unless the baseline accepts that it cannot be read, and so was made without it.

    Args:
        findings: all findings of the gate, with fingerprints.
        baseline: what the team has accepted.
        waivers: those that name a rule of this gate.
        today: the date that decides whether a waiver is in force.
        unread: the files that the gate asked for and that could not be read or do not parse, and such folders.
    """
    findings = tuple(findings)
    active = in_force(waivers, today)
    covers = cover(active)
    recorded = baseline.amounts()
    new, accepted, waived = [], [], []
    for finding in findings:
        if finding.amount <= recorded.get(finding.fingerprint, -1):
            accepted.append(finding)
        elif covers(finding):
            waived.append(finding)
        else:
            new.append(finding)
    measured = {finding.fingerprint: finding.amount for finding in findings}
    surprising = set(unread).difference(finding.path for finding in accepted if finding.rule in _OF_SOURCES)
    unmet = [entry for entry in baseline.entries if measured.get(entry.fingerprint, -1) < entry.amount]
    unsure = {entry for entry in unmet if surprising or lies_below(entry.path, unread)}
    known = [entry for entry in unmet if entry not in unsure]
    return Judgement(
        baseline=baseline,
        new=tuple(new),
        accepted=tuple(accepted),
        waived=tuple(waived),
        stale=tuple(entry for entry in known if entry.fingerprint not in measured),
        shrunk=tuple(entry for entry in known if entry.fingerprint in measured),
        unsure=tuple(sorted(unsure)),
        unread=tuple(sorted(unread)),
        expired=tuple(waiver for waiver in waivers if has_expired(waiver, today)),
        expiring=tuple(waiver for waiver in active if waiver.expires - today <= NOTICE),
        unused=() if surprising else idle(active, findings),
    )


def candidates(judgement: Judgement) -> Pairing[Finding]:
    """Which new findings and stale entries may be one violation that moved, and which are not.

    A finding that has outgrown its entry has its place, and is no candidate.
    """
    recorded = judgement.baseline.amounts()
    return pair(judgement.stale, (finding for finding in judgement.new if finding.fingerprint not in recorded))


def looks_moved(judgement: Judgement) -> bool:
    """Whether there are new findings and `accept_moves` would leave none."""
    return bool(judgement.new) and not accept_moves(judgement).left


def update(judgement: Judgement) -> Baseline:
    """The baseline less its stale entries, each amount lowered to today's.

    New findings never enter it, and waived ones neither; no amount is ever raised. A stale entry that may have
    moved stays until somebody has decided whether it did.
    """
    return _holding(judgement, _lowered(judgement, candidates(judgement).vanished))


def prune(judgement: Judgement, exists: Callable[[str], bool]) -> Baseline:
    """The baseline less what `update` would take out and whose file is gone.

    `exists` tells of a path relative to the root whether it is a file of the tree.
    """
    gone = {entry for entry in candidates(judgement).vanished if not exists(entry.path)}
    return _holding(judgement, (entry for entry in judgement.baseline.entries if entry not in gone))


def record_waived(judgement: Judgement) -> Baseline:
    """Growth on purpose: the updated baseline and the findings that stand only because of a waiver."""
    waived = {finding.fingerprint for finding in judgement.waived}
    kept = _lowered(judgement, candidates(judgement).vanished)
    return _holding(judgement, (*(entry for entry in kept if entry.fingerprint not in waived), *judgement.waived))


class Rehomed(Struct, frozen=True):
    """What `accept_moves` made of a judgement."""

    baseline: Baseline
    moves: tuple[Move[Finding], ...]
    left: tuple[Finding, ...]
    """New findings that no stale entry makes room for."""


def accept_moves(judgement: Judgement) -> Rehomed:
    """The baseline less its stale entries, with new findings in the place of those that may have moved.

    Each new finding takes the place of one entry of its rule and subject and of no smaller amount, so no total of
    these grows.
    """
    moves = candidates(judgement).moves
    moved = {move.new.fingerprint: move.new for move in moves}
    baseline = _holding(judgement, (*_lowered(judgement, judgement.stale), *moved.values()))
    return Rehomed(baseline, moves, tuple(finding for finding in judgement.new if finding.fingerprint not in moved))


def _lowered(judgement: Judgement, gone: Collection[Entry]) -> list[Entry]:
    """The entries that are not `gone`, each with today's amount where that is smaller."""
    today = {finding.fingerprint: finding.amount for finding in judgement.accepted}
    dropped, shrunk = set(gone), set(judgement.shrunk)
    return [
        replace(entry, amount=today[entry.fingerprint]) if entry in shrunk else entry
        for entry in judgement.baseline.entries
        if entry not in dropped
    ]


def _holding(judgement: Judgement, violations: Iterable[Violation]) -> Baseline:
    return Baseline.of(judgement.baseline.gate, map(Entry.of, violations))
