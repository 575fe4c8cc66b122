"""What a judgement means: the verdict, the findings that fail the run, and the sentences for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from analyzers.finding import Finding, Rule, identify
from gates.baseline.entries import Baseline, Entry
from gates.baseline.format import FIRST_ENTRY_LINE
from gates.baseline.ratchet import Judgement, candidates, looks_moved
from gates.baseline.rules import EXPIRED_WAIVER, GROWN_BASELINE, STALE_ENTRY, UNUSED_WAIVER
from reports.report import Verdict
from reports.wording import plural

if TYPE_CHECKING:
    from gates.baseline.compare import Verification
    from gates.settings.model import Waiver


class Files(Struct, frozen=True):
    """Where findings about waivers and entries stand; paths are POSIX, relative to the root."""

    settings: str
    baseline: str
    line_of: Callable[[Waiver], int]
    """The line of a waiver in the settings file; 0 where it is not known."""


def verdict_of_update(judgement: Judgement) -> Verdict:
    """One gate's verdict when its baseline is updated: undecided where all that is new may only have moved."""
    if judgement.expired:
        return Verdict.BROKEN
    if judgement.new:
        return Verdict.UNDECIDED if looks_moved(judgement) else Verdict.BROKEN
    return Verdict.CLEAN


def failures(judgement: Judgement, files: Files, strict: bool = False) -> list[Finding]:
    """What fails the run: new findings, expired waivers and, if strict, stale entries and unused waivers."""
    own = [_expired(waiver, files) for waiver in judgement.expired]
    if strict:
        own += [_unused(waiver, files) for waiver in judgement.unused]
        own += _about_entries(STALE_ENTRY, judgement.stale, "matches nothing any more", judgement.baseline, files)
    return [*_new(judgement), *identify(own)]


def growth(verification: Verification, current: Baseline, files: Files) -> list[Finding]:
    """The entries that fail `gates baseline verify`, as findings in the baseline file."""
    fault = "accepts more than the baseline at the merge base"
    return identify(_about_entries(GROWN_BASELINE, verification.grown, fault, current, files))


def notes(judgement: Judgement, files: Files, strict: bool = False) -> list[str]:
    """What a person should know and does not learn from the failures."""
    said = []
    if looks_moved(judgement):
        said.append(
            f"Each new finding of {judgement.baseline.gate} has the rule and subject of an entry that"
            " matches nothing any more: if the code only moved, run `gates check --accept-moves`."
        )
    stale = () if strict else candidates(judgement).vanished
    kinds = ((stale, "match nothing any more"), (judgement.shrunk, "accept a larger amount than there is"))
    if less := [f"{len(entries)} {what}" for entries, what in kinds if entries]:
        said.append(
            f"Less debt than recorded: of {len(judgement.baseline.entries)} entries of {files.baseline},"
            f" {' and '.join(less)}. Run `gates check --update` to lock that in."
        )
    if judgement.unsure:
        said.append(doubt(judgement, files.baseline))
    if not strict:
        said += [f"{_title(waiver)} covers nothing any more: delete it." for waiver in judgement.unused]
    return [*said, *expiries(judgement)]


def doubt(judgement: Judgement, file: str) -> str:
    """What the entries of a baseline wait for that nobody can call gone or smaller."""
    first, *others = judgement.unread
    sources = f"{first} and {plural(len(others), 'other')}" if others else first
    entries = plural(len(judgement.unsure), "entry that was", "entries that were")
    return f"{file} keeps {entries} not found: nobody knows what is gone until {sources} can be read and parsed."


def expiries(judgement: Judgement) -> list[str]:
    """A sentence for each waiver that covers something and soon will not."""
    return [
        f"{_title(waiver)} expires after {waiver.expires}."
        for waiver in judgement.expiring
        if waiver not in judgement.unused
    ]


def _new(judgement: Judgement) -> list[Finding]:
    """The new findings; those that outgrew their entry say so."""
    recorded = judgement.baseline.amounts()
    return [
        replace(finding, message=f"{finding.message}; the baseline accepts {recorded[finding.fingerprint]}")
        if finding.fingerprint in recorded
        else finding
        for finding in judgement.new
    ]


def _expired(waiver: Waiver, files: Files) -> Finding:
    message = f"{_title(waiver)} expired after {waiver.expires}: {waiver.reason}"
    return _about_waiver(EXPIRED_WAIVER, waiver, message, files)


def _unused(waiver: Waiver, files: Files) -> Finding:
    return _about_waiver(UNUSED_WAIVER, waiver, f"{_title(waiver)} covers nothing any more", files)


def _title(waiver: Waiver) -> str:
    return f"The waiver of {waiver.rule} in {waiver.scope} (owner: {waiver.owner})"


def _about_waiver(rule: Rule, waiver: Waiver, message: str, files: Files) -> Finding:
    return Finding(
        rule=rule.code,
        path=files.settings,
        line=files.line_of(waiver),
        column=0,
        symbol="",
        subject=f"{waiver.rule} {waiver.scope}",
        message=message,
        hint=rule.fix,
    )


def _about_entries(rule: Rule, entries: Iterable[Entry], fault: str, baseline: Baseline, files: Files) -> list[Finding]:
    lines = {entry: line for line, entry in enumerate(baseline.entries, start=FIRST_ENTRY_LINE)}
    return [
        Finding(
            rule=rule.code,
            path=files.baseline,
            line=lines[entry],
            column=0,
            symbol="",
            subject=entry.title,
            message=f"The entry {entry.title} {fault}",
            hint=rule.fix,
        )
        for entry in entries
    ]
