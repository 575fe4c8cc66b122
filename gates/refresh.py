"""Bringing all baselines up to date: what shrank is locked in, what grew is refused, what moved is left to a person."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

from analyzers.finding import Finding
from analyzers.trees.git import user_name
from gates.baseline.compare import diff
from gates.baseline.entries import Baseline
from gates.baseline.ratchet import candidates, record_waived, update
from gates.baseline.rules import EXPIRED_WAIVER
from gates.baseline.verdict import doubt, expiries, failures, verdict_of_update
from gates.baseline.waivers import suggestion
from gates.reporting import files_for
from gates.run import GateResult, Run, judge_again, save_baseline
from reports.refresh import GateRefresh, Refresh
from reports.report import Verdict

_RESPITE = datetime.timedelta(days=90)
"""How long a suggested waiver holds."""


def refresh_baselines(run: Run, *, record: bool, write: bool) -> Refresh:
    """Bring every baseline of a run up to date, and say what that changes.

    Args:
        run: all gates over the whole working tree.
        record: take in what waivers in force cover.
        write: change the files; otherwise only say what would change.
    """
    results, rows = [], []
    for result in run.results:
        after = record_waived(result.judgement) if record else update(result.judgement)
        results.append(judge_again(run, result, after))
        rows.append(_row(run, results[-1], result.judgement.baseline))
        if write and (after.entries or result.baseline_file.exists()):
            save_baseline(run.context.loaded, after)
    verdicts = {verdict_of_update(result.judgement) for result in results}
    return Refresh(
        gates=tuple(rows),
        notices=tuple(dict.fromkeys(notice for result in results for notice in _notices(run, result))),
        waivers=tuple(_waivers(run, (finding for row in rows for finding in row.refused))),
        settings=run.context.loaded.file.name,
        written=write,
        verdict=next(v for v in (Verdict.BROKEN, Verdict.UNDECIDED, Verdict.CLEAN) if v in verdicts),
    )


def _row(run: Run, result: GateResult, before: Baseline) -> GateRefresh:
    """What led from the baseline `before` to the one that the result was judged by."""
    after = result.judgement.baseline
    changes = diff(before, after)
    moves = candidates(result.judgement).moves
    moving = {move.new.fingerprint for move in moves}
    failing = failures(result.judgement, files_for(run.context.loaded, result.gate.name))
    fixed = (*changes.removed, *(move.old for move in changes.moved))
    arrived = (*changes.added, *(move.new for move in changes.moved), *(r.new for r in changes.resized if r.grown))
    return GateRefresh(
        gate=result.gate.name,
        before=len(before.entries),
        after=len(after.entries),
        fixed=tuple(entry.title for entry in fixed),
        lowered=tuple(f"{r.old.title}: {r.old.amount} -> {r.new.amount}" for r in changes.resized if not r.grown),
        recorded=tuple(entry.title for entry in arrived),
        moved=tuple(f"{move.old.title} -> {move.new.path} {move.new.symbol}".rstrip() for move in moves),
        refused=tuple(f for f in failing if f.rule != EXPIRED_WAIVER.code and f.fingerprint not in moving),
    )


def _notices(run: Run, result: GateResult) -> Iterator[str]:
    """What a person should know of waivers, of what stays in doubt, and of a gate that has nothing to refresh."""
    files = files_for(run.context.loaded, result.gate.name)
    yield from (f.message for f in failures(result.judgement, files) if f.rule == EXPIRED_WAIVER.code)
    yield from expiries(result.judgement)
    if result.judgement.unsure:
        yield doubt(result.judgement, files.baseline)
    if result.judgement.new and not result.baseline_file.exists():
        yield f"{result.gate.name} has no baseline: `gates init` writes the first one, which accepts what there is."


def _waivers(run: Run, refused: Iterable[Finding]) -> Iterator[str]:
    """A waiver for each rule and file, for its owner to say why."""
    loaded = run.context.loaded
    owner = user_name(run.context.tree.root)
    expires = datetime.date.today() + _RESPITE
    for rule, path in dict.fromkeys((finding.rule, finding.path) for finding in refused):
        yield suggestion(rule, path, owner=owner, expires=expires, prefix=loaded.prefix)
