"""A judged description -> its report."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec.structs import replace

from gates.evidence import REVIEW, Comparison, findings
from gates.reporting import compose
from reports.report import GateSummary, Report, Verdict
from reports.wording import plural


def review(comparison: Comparison, text: str, name: str, started: float) -> Report:
    """Judge a description.

    Args:
        comparison: what really changed.
        text: the description, in Markdown.
        name: what findings call it.
        started: `time.perf_counter()` when the run began.

    Returns:
        A report. Its verdict is undecided where nothing is wrong, and yet some declaration could not be read.
    """
    context = comparison.context
    found = findings(comparison, text, name)
    verdict = Verdict.BROKEN if found else Verdict.UNDECIDED if comparison.unread else Verdict.CLEAN
    report = compose(
        verdict,
        found,
        _notes(comparison),
        root=context.tree.root,
        text_of=lambda path: text if path == name else context.text_of(path) if path in context.tree.paths else None,
    )
    summary = GateSummary(
        name=REVIEW.name,
        files=len(comparison.files),
        new=len(found),
        accepted=0,
        waived=0,
        stale=0,
        rules=frozenset(rule.code for rule in REVIEW.rules),
    )
    return replace(report, gates=(summary,), seconds=time.perf_counter() - started)


def _notes(comparison: Comparison) -> Iterator[str]:
    files, subjects = len(comparison.files), len(comparison.changes)
    counted = f"{plural(files, 'changed file')}, {plural(subjects, 'change')} that a row must name"
    yield f"Compared with {comparison.commit[:12]}: {counted}."
    yield from doubts(comparison)


def doubts(comparison: Comparison) -> Iterator[str]:
    """A sentence for each thing that nobody but a person can compare."""
    for problem in comparison.unread:
        yield f"{problem}: a person must decide whether this changed."
