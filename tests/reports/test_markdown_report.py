from __future__ import annotations

from html.parser import HTMLParser

import pyromark
import pytest
from hypothesis import given
from msgspec.structs import replace
from report_samples import broken_report, debt, examples, findings, reports, texts

from reports import debt_markdown, markdown
from reports.escaping import printable
from reports.report import Report


class Page(HTMLParser):
    """What a reader sees: the text of each table row's cells, the other text, and the elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self._cell = False
        self.feed(pyromark.html(text, options=pyromark.Options.ENABLE_TABLES))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][-1] += data


def cell(content: str) -> Page:
    return Page(markdown.table(("a", "b"), [(content, "end")], "ll"))


@examples
@given(text=texts)
def test_escaped_text_reads_as_itself_in_a_cell(text: str) -> None:
    page = cell(markdown.escaped(text))
    assert page.rows[1] == [printable(text).strip(), "end"]
    assert page.elements <= {"table", "thead", "tbody", "tr", "th", "td"}


@examples
@given(text=texts.filter(str.strip))
def test_code_reads_as_itself_in_a_cell(text: str) -> None:
    page = cell(markdown.code(text))
    assert page.rows[1] == [printable(text), "end"]
    assert "code" in page.elements


def test_backticks_of_a_sentence_mark_code() -> None:
    assert markdown.prose("`a_b` must not import `c|d`, x_y") == r"`a_b` must not import `c\|d`, x\_y"


@pytest.mark.parametrize("text", ["@maintainer", "see #12"])
def test_nobody_is_mentioned_and_no_issue_is_linked(text: str) -> None:
    shown = markdown.escaped(text)
    assert "@m" not in shown
    assert "#1" not in shown


@examples
@given(report=reports())
def test_every_finding_is_one_row(report: Report) -> None:
    rows = Page(markdown.render(report)).rows
    tables = (1 + len(report.gates) if report.gates else 0) + (1 + len(report.findings) if report.findings else 0)
    assert len(rows) == tables


def test_a_flood_of_findings_keeps_below_what_github_accepts() -> None:
    text = markdown.render(replace(broken_report(), findings=findings() * 1000))
    assert len(text) < 65_536
    rows = len(Page(text).rows) - 3 - 1
    assert text.count(f"and {4000 - rows:,} more.") == 1


def test_the_debt_has_a_table_for_each_view() -> None:
    rows = Page(debt_markdown.render(debt())).rows
    assert [row[0] for row in rows if row[0] in ("Layer", "Kind", "File", "Importer")] == [
        "Layer",
        "Kind",
        "File",
        "Importer",
    ]
