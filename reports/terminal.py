"""The report for a person at a terminal or in a plain log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import TextIO

from analyzers.finding import Finding
from reports.code_frame import code_frame
from reports.escaping import printable, printable_lines
from reports.report import GateSummary, Report
from reports.wording import gate_counts, plural, trace_lines, verdict_sentence

WIDTH = 100
"""Terminal cells where nothing says how wide the reader's window is."""
DETAILED = 100
"""Places shown with their source; those after them take a line each."""

Span = tuple[str, str]
"""A style in the words of rich, and the text that has it."""
Line = list[Span]
_Part = tuple[tuple[str, str], ...]
"""Lines of a finding's trace or hint, each with the label before it."""


def render(report: Report, *, width: int = WIDTH, colour: bool = False) -> str:
    """The report as text: lines of source keep within `width` cells, messages are for the terminal to wrap.

    Without colour the text holds no control characters but line ends.
    """
    lines = [*_findings(report, width), *_notes(report), *_summary(report)]
    paint = _painter() if colour else _plain
    return "".join("".join(paint(style, text) for style, text in line) + "\n" for line in lines)


def wants_colour(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to colour what goes to a stream: a terminal that can, and no `NO_COLOR` (no-color.org)."""
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def _plain(style: str, text: str) -> str:
    return text


def _painter() -> Callable[[str, str], str]:
    from rich.color import ColorSystem
    from rich.style import Style

    def paint(style: str, text: str) -> str:
        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)

    return paint


def _findings(report: Report, width: int) -> Iterator[Line]:
    @lru_cache(maxsize=1)
    def lines_of(path: str) -> Sequence[str]:
        return (report.text_of(path) or "").split("\n")

    places = groupby(report.findings, key=lambda finding: (finding.path, finding.line))
    for (path, _), findings in islice(places, DETAILED):
        yield from _place(list(findings), lines_of(path), width)
        yield []
    rest = [finding for _, findings in places for finding in findings]
    yield from map(_header, rest)
    if rest:
        yield []


def _place(findings: Sequence[Finding], lines: Sequence[str], width: int) -> Iterator[Line]:
    """All findings of one line of one file over a single frame. What is the same for all stands below it, anything
    else below the finding that it belongs to."""
    first = findings[0]
    gutter = len(str(first.line + 2))
    details = [_details(finding) for finding in findings]
    shared = [parts[0] for parts in zip(*details, strict=True) if len(set(parts)) == 1]
    for finding, own in zip(findings, details, strict=True):
        yield _header(finding)
        for part in own:
            if part not in shared:
                yield from _rows(part, gutter)
    frame = code_frame(lines, first.line, [finding.column for finding in findings], max(20, width - gutter - 3))
    for row in frame:
        number = "" if row.number is None else str(row.number)
        style = "" if row.number else "bold red"
        yield [("bold blue", f"{number:>{gutter}} |"), (style, f" {row.text}" if row.text else "")]
    for part in shared:
        yield from _rows(part, gutter)


def _rows(part: _Part, gutter: int) -> Iterator[Line]:
    for label, text in part:
        for line in printable_lines(text):
            yield [("bold blue", " " * gutter + " = "), ("bold cyan", label), ("", line)]


def _header(finding: Finding) -> Line:
    line = f":{finding.line}" if finding.line else ""
    column = f":{finding.column}" if finding.line and finding.column else ""
    return [
        ("bold", printable(finding.path)),
        ("cyan", f"{line}{column}"),
        ("bold red", f" {printable(finding.rule)} "),
        ("", printable(finding.message)),
    ]


def _details(finding: Finding) -> tuple[_Part, _Part]:
    """Trace and hint."""
    trace = tuple(("", line) for line in trace_lines(finding))
    return trace, (("help: ", finding.hint),) if finding.hint else ()


def _notes(report: Report) -> Iterator[Line]:
    for note in report.notes:
        yield [("bold yellow", "note: "), ("", printable(note))]


def _summary(report: Report) -> Iterator[Line]:
    """A line a gate, and one for the run unless it would repeat the only gate's."""
    duration = f" in {report.seconds:.1f} s"
    match report.gates:
        case [only]:
            yield _gate(only, duration)
        case gates:
            for gate in gates:
                yield _gate(gate, "")
            style = "bold red" if report.verdict else "bold green"
            yield [(style, verdict_sentence(report)), ("", duration)]


def _gate(gate: GateSummary, duration: str) -> Line:
    style = "bold red" if gate.new else "bold green"
    return [(style, f"{gate.name}: "), ("", f"{gate_counts(gate)}; {plural(gate.files, 'file')}{duration}")]
