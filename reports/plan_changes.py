"""What changed between a snapshot of the static plan and the plan of today, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.routes.plan import Outcome
from analyzers.routes.snapshot import Change, Expectation, Verdict
from reports.escaping import printable
from reports.wording import plural


def render(verdict: Verdict) -> str:
    """One line for each change that nobody announced, and for each announcement that nothing came of."""
    lines = [*map(_change, verdict.unexpected), *map(_idle, verdict.idle), *_summary(verdict)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _change(change: Change) -> str:
    return f"{change.table}: {change.cell}: {_outcome(change.was)} -> {_outcome(change.now)}"


def _idle(announced: Expectation) -> str:
    where = " ".join(f"{axis}={value}" for axis, value in announced.where.items())
    return f"{announced.table}: {where or 'any cell'}: announced {announced.was} -> {announced.now}, and nothing did so"


def _outcome(outcome: Outcome | None) -> str:
    if outcome is None:
        return "no such cell"
    refused = ", ".join(f"{route} ({field})" for route, field in outcome.refused)
    return f"{outcome.route or 'no route'}{f' [refused: {refused}]' if refused else ''}"


def _summary(verdict: Verdict) -> Iterator[str]:
    if verdict.expected:
        yield f"{plural(len(verdict.expected), 'announced change')}"
    if verdict.unexpected or verdict.idle:
        found = plural(len(verdict.unexpected), "change")
        yield f"static plan: {found} that nobody announced, {len(verdict.idle)} announced in vain"
    else:
        yield "static plan: as in the snapshot" if not verdict.expected else "static plan: changed as announced"
