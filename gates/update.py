"""Changing baselines: locking in what was fixed, and re-homing what moved."""

from __future__ import annotations

from msgspec.structs import replace

from gates.baseline.entries import Baseline
from gates.baseline.ratchet import accept_moves as rehome
from gates.baseline.ratchet import update
from gates.baseline.verdict import verdict_of_update
from gates.reporting import report_of
from gates.run import GateResult, Run, judge_again, save_baseline
from reports.report import Report, Verdict


def update_baselines(run: Run, *, accept_moves: bool) -> Report:
    """Write every baseline of the run anew, never larger than before, and report on what it still does not accept.

    Undecided (3) when nothing is new but what may have moved, which `--accept-moves` would settle.
    """
    results, said = [], []
    for result in run.results:
        changed, sentence = _changed(result, accept_moves)
        results.append(judge_again(run, result, changed))
        if changed != result.judgement.baseline:
            save_baseline(run.context.loaded, changed)
            said.append(sentence)
    report = report_of(replace(run, results=tuple(results)))
    verdicts = {verdict_of_update(result.judgement) for result in results}
    worst = next(verdict for verdict in (Verdict.BROKEN, Verdict.UNDECIDED, Verdict.CLEAN) if verdict in verdicts)
    return replace(report, verdict=worst, notes=(*said, *report.notes))


def _changed(result: GateResult, accept_moves: bool) -> tuple[Baseline, str]:
    """The new baseline, and what happened in words."""
    before, lowered = len(result.judgement.baseline.entries), len(result.judgement.shrunk)
    name = result.baseline_file.name
    if not accept_moves:
        baseline = update(result.judgement)
        fixed = before - len(baseline.entries)
        return baseline, f"{name}: {fixed} fixed, taken out of the baseline; {lowered} lowered."
    rehomed = rehome(result.judgement)
    fixed = before - len(rehomed.baseline.entries)
    return rehomed.baseline, f"{name}: {len(rehomed.moves)} moved, {fixed} fixed, {lowered} lowered."
