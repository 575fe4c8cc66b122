from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from msgspec.structs import replace
from report_samples import RULES, broken_report, clean_report, examples, findings, reports

from analyzers.finding import Finding
from reports.report import Report
from reports.terminal import DETAILED, render, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@examples
@given(report=reports())
def test_without_colour_there_is_no_control_character_but_line_feeds(report: Report) -> None:
    assert render(report).replace("\n", "").isprintable()


@examples
@given(report=reports())
def test_colour_adds_escape_sequences_and_changes_nothing_else(report: Report) -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", render(report, colour=True)) == render(report)


def test_one_gate_is_summed_up_on_the_last_line() -> None:
    report = broken_report()
    last = render(replace(report, gates=report.gates[:1])).splitlines()[-1]
    assert last == "layering: 2 new, 14 accepted, 1 waived; 4,719 files in 0.8 s"


def test_several_gates_are_summed_up_after_each_of_them() -> None:
    assert render(broken_report()).splitlines()[-3:] == [
        "layering: 2 new, 14 accepted, 1 waived; 4,719 files",
        "docs: 2 new, 3 stale; 1 file",
        "4 new findings in 0.8 s",
    ]


def test_a_clean_run_is_one_line() -> None:
    assert render(clean_report()) == "layering: 0 new, 14 accepted; 4,719 files in 0.2 s\n"


def test_findings_of_one_line_share_one_frame() -> None:
    assert render(broken_report()).count("from runtime.models import registry, loader") == 1


def test_what_is_said_of_one_of_several_findings_stands_below_it() -> None:
    first, second = (
        replace(findings()[2], subject=name, message=f"names {name}", hint=f"drop {name}", trace=None)
        for name in ("registry", "loader")
    )
    text = render(replace(broken_report(), findings=(first, second)))
    told = [line for line in text.splitlines() if "names" in line or "drop" in line]
    assert [line.split()[-1] for line in told] == ["registry", "registry", "loader", "loader"]


def test_what_is_said_of_all_findings_of_a_line_is_said_once() -> None:
    text = render(replace(broken_report(), findings=findings()[2:]))
    assert text.count("let the model register itself") == 1
    assert text.index("runner.py:7:39") < text.index("let the model register itself")


def test_a_file_is_read_once_for_all_its_findings() -> None:
    asked = []
    report = broken_report()
    twice = replace(findings()[2], line=2)

    def text_of(path: str) -> str | None:
        asked.append(path)
        return "x"

    render(replace(report, findings=(twice, findings()[2]), text_of=text_of))
    assert asked == [twice.path]


def test_a_flood_of_findings_is_told_in_a_line_each_after_the_first_hundred() -> None:
    flood = tuple(
        Finding("DOC001", f"docs/{n:04}.md", 1, 1, "", "", "gone", hint="restore it") for n in range(DETAILED + 50)
    )
    report = replace(broken_report(), findings=flood, rules=RULES)
    text = render(report)
    assert text.count("gone") == len(flood)
    assert text.count("restore it") == DETAILED


def test_markup_in_a_message_is_only_text() -> None:
    assert "[bold]x[/bold]" in render(broken_report(), colour=True)


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"TERM": "xterm-256color"}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(stream: io.StringIO, environment: dict[str, str], wanted: bool) -> None:
    assert wants_colour(stream, environment) is wanted
