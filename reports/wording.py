"""Sentences that several formats share, so that a run reads the same wherever it is shown."""

from __future__ import annotations

from analyzers.finding import Finding
from reports.report import GateSummary, Report, Verdict


def location(finding: Finding) -> str:
    """`path:line:column`, without the parts that the finding lacks."""
    if not finding.line:
        return finding.path
    if not finding.column:
        return f"{finding.path}:{finding.line}"
    return f"{finding.path}:{finding.line}:{finding.column}"


def trace_lines(finding: Finding) -> tuple[str, ...]:
    """The supporting lines, computed now."""
    return finding.trace() if finding.trace else ()


def explanation(finding: Finding) -> str:
    """Message, supporting lines and hint, each on its own line."""
    hint = (f"help: {finding.hint}",) if finding.hint else ()
    return "\n".join((finding.message, *trace_lines(finding), *hint))


def plural(count: int, noun: str, several: str = "") -> str:
    """`1 file`, `2 files`; `several` is the plural of a noun that takes more than an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {several or f'{noun}s'}"


def gate_counts(gate: GateSummary) -> str:
    """For example `2 new, 14 accepted, 1 waived`."""
    others = (("accepted", gate.accepted), ("waived", gate.waived), ("stale", gate.stale))
    return ", ".join([f"{gate.new:,} new", *(f"{count:,} {word}" for word, count in others if count)])


def verdict_sentence(report: Report) -> str:
    """The outcome in a few words, for a headline."""
    match report.verdict:
        case Verdict.CLEAN:
            return "no new findings"
        case Verdict.BROKEN if report.findings:
            return plural(len(report.findings), "new finding")
        case Verdict.BROKEN:
            return "broken"
        case Verdict.MISUSE:
            return "the run could not be completed"
        case Verdict.UNDECIDED:
            return "a person must decide"
