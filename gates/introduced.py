"""What a change introduces: the findings that its merge base does not have, whatever the baselines accept."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from analyzers.cache import FactCache
from analyzers.facts import FactBase, Progress
from analyzers.finding import Finding, identify
from analyzers.trees.git import file_at, merge_base, renamed_files
from gates.baseline.entries import Baseline, Entry
from gates.baseline.moves import Move
from gates.baseline.ratchet import accept_moves, judge
from gates.baseline.renames import renamed_modules, under_new_names
from gates.gate import Context, Gate
from gates.registry import configured
from gates.reporting import compose
from gates.run import Found, Sources, find
from gates.settings.load import Loaded, load_past
from reports.report import GateSummary, Report, Verdict
from reports.wording import plural

_TOLD = 10
"""Moves that are told one by one."""


class _Change(Struct, frozen=True):
    """One gate's findings, held against those of the merge base."""

    gate: Gate
    files: int
    new: list[Finding]
    there: list[Finding]
    """What the merge base has as well."""
    waived: list[Finding]
    moves: list[Move[Finding]]
    gone: list[Entry]
    """What only the merge base has."""
    unsure: int
    """How many findings of the merge base may be gone, or stand in a file that cannot be read."""


class _Before(NamedTuple):
    """What one gate had to say of the merge base, under the names of today."""

    accepted: Baseline
    unread: set[str]


class _Base(Struct, frozen=True):
    """The commit that a change is held against, and what stands between the two."""

    commit: str
    renames: dict[str, str]
    """Files, old path -> new."""


def introduced(
    loaded: Loaded, gates: Sequence[Gate], sources: Sources, base: str, *, cache: FactCache | None, progress: Progress
) -> Report:
    """Judge what the sources have beyond their merge base with `base`, by the rules and waivers of today.

    A finding was there before if the merge base has it under the settings of today or under its own: neither a rule
    that is switched on, nor a layer that is renamed with its package, puts old debt on the change. It may have moved,
    with a file that git sees as renamed, or as `accept_moves` has it.

    Raises:
        UserError: the settings or the tree cannot be used, or `base` and the sources have nothing in common.
    """
    started = time.perf_counter()
    context = sources.context(loaded, cache)
    found = find(gates, context, FactBase(context.tree, cache), progress)
    root = context.tree.root
    commit = merge_base(root, base, sources.ref or "HEAD")
    point = _Base(commit, renamed_files(root, commit, ref=sources.ref, staged=sources.staged))
    before = _found_before(point, context, gates, cache, progress)
    changes = [_change(gate, found[gate.name], before[gate.name], loaded, sources) for gate in gates]
    new = [finding for change in changes for finding in change.new]
    said = [*context.tree.notes, *(note for change in changes for note in _notes(change, commit[:12]))]
    verdict = Verdict.BROKEN if new else Verdict.CLEAN
    report = compose(verdict, new, said, root=root, text_of=context.text_of)
    return replace(report, gates=tuple(map(_summary, changes)), seconds=time.perf_counter() - started)


def _found_before(
    point: _Base, context: Context, gates: Sequence[Gate], cache: FactCache | None, progress: Progress
) -> dict[str, _Before]:
    """What each gate finds at the base, under the names of today."""
    found: dict[str, list[Finding]] = {gate.name: [] for gate in gates}
    unread: dict[str, set[str]] = {gate.name: set() for gate in gates}
    for settings in _settings_then_and_now(context.loaded, point.commit):
        past = Sources(ref=point.commit).context(settings, cache)
        modules = renamed_modules(point.renames, past.modules, context.modules)
        able = [gate for gate in gates if gate.name in configured(settings.settings)]
        for name, then in find(able, past, FactBase(past.tree, cache), progress).items():
            found[name] += identify(under_new_names(then.findings, point.renames, modules))
            unread[name] |= {point.renames.get(path, path) for path in then.unread}
    return {name: _Before(_accepting(name, findings), unread[name]) for name, findings in found.items()}


def _accepting(name: str, findings: list[Finding]) -> Baseline:
    """What accepts all of the findings; of those that were found twice, the larger."""
    ordered = sorted(findings, key=lambda finding: finding.amount)
    return Baseline.accepting(name, {finding.fingerprint: finding for finding in ordered}.values())


def _settings_then_and_now(loaded: Loaded, commit: str) -> Iterator[Loaded]:
    yield loaded
    root = loaded.file.parent
    past = load_past(root, lambda file: file_at(root, commit, file))
    if past is not None and past.settings != loaded.settings:
        yield past


def _change(gate: Gate, found: Found, before: _Before, loaded: Loaded, sources: Sources) -> _Change:
    unread = found.unread - before.unread
    judgement = judge(found.findings, before.accepted, loaded.settings.waivers, datetime.date.today(), unread)
    rehomed = accept_moves(judgement)
    taken = {move.old for move in rehomed.moves}
    amounts = before.accepted.amounts()

    def covered(findings: Sequence[Finding]) -> list[Finding]:
        return [finding for finding in findings if sources.cover(finding.path)]

    return _Change(
        gate=gate,
        files=found.files,
        new=[_with_amount(finding, amounts) for finding in covered(rehomed.left)],
        there=covered(judgement.accepted),
        waived=covered(judgement.waived),
        moves=[move for move in rehomed.moves if sources.cover(move.new.path)],
        gone=[entry for entry in judgement.stale if entry not in taken and sources.cover(entry.path)],
        unsure=sum(sources.cover(entry.path) for entry in judgement.unsure),
    )


def _with_amount(finding: Finding, amounts: dict[str, int]) -> Finding:
    """A finding that has outgrown what was there says so."""
    if finding.fingerprint not in amounts:
        return finding
    return replace(finding, message=f"{finding.message}; before this change it was {amounts[finding.fingerprint]}")


def _notes(change: _Change, commit: str) -> Iterator[str]:
    name = change.gate.name
    if change.moves:
        told = [f"{Entry.of(move.old).title} -> {move.new.path}" for move in change.moves[:_TOLD]]
        more = len(change.moves) - len(told)
        listed = "; ".join([*told, *([f"and {more} more"] if more else [])])
        verb = "counts" if len(change.moves) == 1 else "count"
        yield f"{plural(len(change.moves), 'finding')} of {name} {verb} as moved since {commit}, not as new: {listed}."
    if change.gone:
        yield f"{plural(len(change.gone), 'finding')} of {name} that {commit} has {_is(len(change.gone))} gone."
    if change.unsure:
        known = f"{plural(change.unsure, 'finding')} of {name} that {commit} has {_is(change.unsure)} not found"
        yield f"{known}, and counted neither as gone nor as moved: files that could be read then cannot be read now."


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _summary(change: _Change) -> GateSummary:
    return GateSummary(
        name=change.gate.name,
        files=change.files,
        new=len(change.new),
        accepted=len(change.there) + len(change.moves),
        waived=len(change.waived),
        stale=0,
        rules=frozenset(rule.code for rule in change.gate.rules),
    )
