"""The report as GitHub-flavoured Markdown, for a pull request comment or a job summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from analyzers.finding import Finding
from reports.escaping import printable
from reports.report import GateSummary, Report
from reports.wording import explanation, location, verdict_sentence

BUDGET = 60_000
"""Characters for the findings: GitHub refuses a comment of more than 65,536."""

_SYNTAX = re.compile(r"[\\`*_\[\]<~|$&]")
_REFERENCE = re.compile(r"@|#(?=\d)")
_CODE = re.compile(r"`([^`]+)`")


def render(report: Report) -> str:
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield f"### Voltgate: {verdict_sentence(report)}"
    if report.gates:
        yield table(("Gate", "New", "Accepted", "Waived", "Stale", "Files"), map(_gate, report.gates), "lrrrrr")
    if report.findings:
        yield _findings(report.findings)
    for note in report.notes:
        yield f"> **Note:** {prose(note)}"


def _gate(gate: GateSummary) -> tuple[str, ...]:
    counts = (gate.new, gate.accepted, gate.waived, gate.stale, gate.files)
    return (escaped(gate.name), *(f"{count:,}" for count in counts))


def _findings(findings: tuple[Finding, ...]) -> str:
    rows: list[tuple[str, ...]] = []
    size = 0
    for finding in findings:
        row = _finding(finding)
        size += sum(map(len, row))
        if size > BUDGET:
            break
        rows.append(row)
    shown = table(("Where", "Rule", "Finding"), rows, "lll")
    left = len(findings) - len(rows)
    return shown if not left else f"{shown}\n\nand {left:,} more."


def _finding(finding: Finding) -> tuple[str, ...]:
    message = "<br>".join(prose(line) for line in explanation(finding).split("\n"))
    return code(location(finding)), escaped(finding.rule), message


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]], alignment: str) -> str:
    """A table of cells that are already Markdown; `alignment` has one of `l` and `r` a column."""
    rule = tuple("---:" if side == "r" else "---" for side in alignment)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def prose(text: str) -> str:
    """A sentence whose backticks mark code, as Markdown for inline use or a table cell."""
    parts = _CODE.split(text)
    return "".join(code(part) if position % 2 else escaped(part) for position, part in enumerate(parts))


def escaped(text: str) -> str:
    """Plain text as Markdown that shows exactly that text, also in a table cell, and mentions nobody."""
    return _REFERENCE.sub(r"\g<0><!-- -->", _SYNTAX.sub(r"\\\g<0>", printable(text)))


def code(text: str) -> str:
    """A code span that shows exactly that text, also in a table cell."""
    if "\\|" in text:
        # In a table cell no code span can hold a backslash before a pipe.
        return f"<code>{escaped(text)}</code>"
    shown = printable(text).replace("|", r"\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    padding = " " if {shown[:1], shown[-1:]} & {"`", " "} else ""
    return f"{fence}{padding}{shown}{padding}{fence}"
