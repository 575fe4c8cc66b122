from __future__ import annotations

import re

from hypothesis import given
from report_samples import broken_report, clean_report, examples, reports

from reports import github
from reports.report import Report

COMMAND = re.compile(r"::(?P<name>error|notice) (?P<properties>[^:]*)::(?P<message>.*)")


def decoded(value: str) -> str:
    """What the runner makes of an escaped value (actions/runner, ActionCommand)."""
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        value = value.replace(escape, character)
    return value


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    pairs = (pair.split("=", 1) for pair in match["properties"].split(","))
    return match["name"], {key: decoded(value) for key, value in pairs}, decoded(match["message"])


@examples
@given(report=reports())
def test_there_is_one_command_a_finding_and_one_a_note(report: Report) -> None:
    commands = [parsed(line)[0] for line in github.render(report).splitlines()]
    assert commands == ["error"] * len(report.findings) + ["notice"] * len(report.notes)


def test_the_properties_survive_the_escaping() -> None:
    _, properties, message = parsed(github.render(broken_report()).splitlines()[0])
    assert properties == {
        "file": r"docs/a b/é,x:1%|`\udcff\x1b[31m.md",
        "line": "2",
        "col": "301",
        "title": "DOC001 missing-target",
    }
    assert message.splitlines()[1:] == ["::error::forged", "help: did you mean `somewhere.md`?"]


def test_a_finding_about_a_whole_file_has_no_line() -> None:
    _, properties, _ = parsed(github.render(broken_report()).splitlines()[1])
    assert properties.keys() == {"file", "title"}


def test_the_import_chain_is_part_of_the_message() -> None:
    _, _, message = parsed(github.render(broken_report()).splitlines()[2])
    assert len(message.splitlines()) == 4


def test_a_clean_run_says_nothing() -> None:
    assert github.render(clean_report()) == ""
