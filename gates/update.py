"""Changing baselines: locking in what was fixed, and re-homing what moved."""

from __future__ import annotations

from analyzers.finding import Finding
from gates.baseline.entries import Baseline
from gates.baseline.ratchet import accept_moves as rehome
from gates.baseline.ratchet import looks_moved, update
from gates.baseline.store import save
from gates.baseline.verdict import failures, notes
from gates.reporting import files_for, report_on
from gates.run import GateResult, Run
from reports.report import Report, Verdict


def update_baselines(run: Run, *, accept_moves: bool) -> Report:
    """Write every baseline of the run anew, smaller or as large as before, and report what could not be taken in.

    Undecided (3) when nothing is new but what may have moved, which `--accept-moves` would settle.
    """
    failing: list[Finding] = []
    said = list(run.context.tree.notes)
    undecided = True
    for result in run.results:
        baseline, left, sentence = _changed(result, accept_moves)
        if save(result.baseline_file, baseline):
            said.append(sentence)
        files = files_for(run.context.loaded, result.gate.name)
        rejected = set(left)
        failing += [f for f in failures(result.judgement, files) if f in rejected or f.rule.startswith("BAS")]
        if left and not accept_moves:
            said += [note for note in notes(result.judgement, files, strict=True) if "--accept-moves" in note]
        undecided = undecided and (not left or looks_moved(result.judgement)) and not result.judgement.expired
    verdict = (Verdict.UNDECIDED if undecided else Verdict.BROKEN) if failing else Verdict.CLEAN
    return report_on(run, verdict, failing, said)


def _changed(result: GateResult, accept_moves: bool) -> tuple[Baseline, tuple[Finding, ...], str]:
    """The new baseline, the findings that it still does not accept, and what happened in words."""
    judgement = result.judgement
    name = result.baseline_file.name
    if not accept_moves:
        return update(judgement), judgement.new, f"{name}: {len(judgement.stale)} fixed, taken out of the baseline."
    rehomed = rehome(judgement)
    moved = len(rehomed.moves)
    gone = len(judgement.stale) - moved
    return rehomed.baseline, rehomed.left, f"{name}: {moved} moved, {gone} fixed."
