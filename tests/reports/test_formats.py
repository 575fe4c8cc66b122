from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from report_samples import debt, examples, reports

from reports.formats import DEBT_FORMATS, FORMATS, debt_renderer, renderer
from reports.report import Report


def test_the_formats_are_those_that_the_command_line_documents() -> None:
    assert set(FORMATS) == {"terminal", "json", "sarif", "github", "junit", "markdown"}
    assert set(DEBT_FORMATS) == {"terminal", "json", "markdown", "html"}


@pytest.mark.parametrize("name", sorted(FORMATS))
@examples
@given(report=reports())
def test_every_format_gives_complete_lines_of_encodable_text(name: str, report: Report) -> None:
    text = renderer(name)(report)
    text.encode("utf-8")
    assert text == "" or text.endswith("\n")


@pytest.mark.parametrize("name", sorted(DEBT_FORMATS))
def test_every_debt_format_gives_complete_lines_of_encodable_text(name: str) -> None:
    text = debt_renderer(name)(debt())
    text.encode("utf-8")
    assert text.endswith("\n")


def test_naming_the_formats_loads_no_renderer_and_no_library() -> None:
    script = "import sys, reports.formats as f; print([m for m in (*f.FORMATS.values(), 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_terminal_report_without_colour_does_without_rich() -> None:
    script = """
import sys
from reports.report import Report, Verdict
from reports.terminal import render
render(Report("0", Verdict.CLEAN, (), (), (), {}, lambda path: None, 0.0))
print("rich" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
