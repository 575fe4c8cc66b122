"""A run -> its report: the failures of all gates together, and what a person should be told besides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path

from msgspec.structs import replace

from analyzers.decoding import decode
from analyzers.finding import Finding
from analyzers.trees.git import repository_of
from gates import __version__
from gates.baseline.verdict import Files, failures, notes
from gates.registry import all_rules
from gates.run import GateResult, Run, baseline_file
from gates.settings.load import Loaded
from gates.settings.model import Waiver
from reports.report import GateSummary, Report, Verdict

_READING_ORDER = attrgetter("path", "line", "column", "rule")


def report_of(run: Run, *, strict: bool = False) -> Report:
    """The verdict on a run. One that judged only some paths says nothing of what is missing or idle elsewhere."""
    failing, said = [], list(run.context.tree.notes)
    needed = _needed_somewhere(run)
    for result in run.results:
        files = files_for(run.context.loaded, result.gate.name)
        idle = () if run.partial else tuple(w for w in result.judgement.unused if w not in needed)
        judgement = replace(result.judgement, unused=idle)
        failing += failures(judgement, files, strict and not run.partial)
        if not run.partial:
            said += notes(judgement, files, strict)
    return replace(
        compose(
            Verdict.BROKEN if failing else Verdict.CLEAN,
            failing,
            said,
            root=run.context.tree.root,
            text_of=lambda path: _text(run, path),
        ),
        gates=tuple(_summary(result) for result in run.results),
        seconds=run.seconds,
    )


def _needed_somewhere(run: Run) -> list[Waiver]:
    """Waivers that cover a finding of some gate: those about sources concern all of them."""
    waivers = run.context.settings.waivers
    idle = [result.judgement.unused for result in run.results]
    return [waiver for waiver in waivers if not all(waiver in unused for unused in idle)]


def compose(
    verdict: Verdict,
    failing: Iterable[Finding],
    said: Iterable[str],
    *,
    root: Path,
    text_of: Callable[[str], str | None],
) -> Report:
    """A report of findings. One that several gates share is told once, and so is a sentence."""
    distinct = {(finding.path, finding.fingerprint): finding for finding in failing}
    findings = tuple(sorted(distinct.values(), key=_READING_ORDER))
    rules = all_rules()
    return Report(
        version=__version__,
        verdict=verdict,
        findings=findings,
        gates=(),
        notes=tuple(dict.fromkeys(said)),
        rules={finding.rule: rules[finding.rule] for finding in findings},
        text_of=text_of,
        seconds=0.0,
        prefix=_prefix(root),
    )


def _prefix(root: Path) -> str:
    """The root's folder inside its repository, as `Report.prefix` has it."""
    top = repository_of(root) or root
    return "" if top == root else f"{root.relative_to(top).as_posix()}/"


def files_for(loaded: Loaded, gate: str) -> Files:
    """Where findings about this gate's waivers and entries stand."""
    waivers = loaded.settings.waivers

    def line_of(waiver: Waiver) -> int:
        return loaded.source.mistake(("waivers", waivers.index(waiver)), "").line

    baseline = os.path.relpath(baseline_file(loaded, gate), loaded.file.parent)
    return Files(loaded.file.name, Path(baseline).as_posix(), line_of)


def _summary(result: GateResult) -> GateSummary:
    judgement = result.judgement
    return GateSummary(
        name=result.gate.name,
        files=result.files,
        new=len(judgement.new),
        accepted=len(judgement.accepted),
        waived=len(judgement.waived),
        stale=len(judgement.stale),
        rules=frozenset(rule.code for rule in result.gate.rules),
    )


def _text(run: Run, path: str) -> str | None:
    """Of the analysed tree where it has the file; settings and baselines come from the disk."""
    if path not in run.context.tree.paths:
        return text_on_disk(run.context.loaded.file.parent / path)
    return run.context.text_of(path)


def text_on_disk(file: Path) -> str | None:
    if not file.is_file():
        return None
    try:
        text = decode(file.name, file.read_bytes())
    except OSError:
        return None
    return text if isinstance(text, str) else None
