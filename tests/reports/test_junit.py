from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from msgspec.structs import replace
from report_samples import broken_report, clean_report, examples, reports

from reports import junit
from reports.report import Report, Verdict


@examples
@given(report=reports())
def test_every_report_is_well_formed_ascii(report: Report) -> None:
    text = junit.render(report)
    assert text.isascii()
    ElementTree.fromstring(text)


@examples
@given(report=reports())
def test_there_is_one_failing_case_a_finding(report: Report) -> None:
    root = ElementTree.fromstring(junit.render(report))
    cases = [case for case in root.iter("testcase") if case.get("classname") != "verdict"]
    assert sum(case.find("failure") is not None for case in cases) == len(report.findings)


@examples
@given(report=reports())
def test_a_run_that_fails_never_looks_green(report: Report) -> None:
    root = ElementTree.fromstring(junit.render(report))
    assert (root.get("failures") != "0") == bool(report.findings or report.verdict)


@examples
@given(report=reports())
def test_the_totals_are_the_sums_of_the_suites(report: Report) -> None:
    root = ElementTree.fromstring(junit.render(report))
    for total in ("tests", "failures"):
        assert int(root.get(total, "")) == sum(int(suite.get(total, "")) for suite in root)


def test_a_suite_holds_the_findings_of_its_gate() -> None:
    root = ElementTree.fromstring(junit.render(broken_report()))
    assert {suite.get("name"): suite.get("failures") for suite in root} == {"layering": "2", "docs": "2"}


def test_findings_that_no_gate_claims_have_a_suite_of_their_own() -> None:
    root = ElementTree.fromstring(junit.render(replace(broken_report(), gates=())))
    assert [suite.get("name") for suite in root] == [junit.TREE_SUITE]


def test_a_clean_gate_is_a_passing_case() -> None:
    root = ElementTree.fromstring(junit.render(clean_report()))
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


@pytest.mark.parametrize("verdict", [Verdict.BROKEN, Verdict.UNDECIDED])
def test_a_failure_without_a_finding_says_why(verdict: Verdict) -> None:
    report = replace(clean_report(), verdict=verdict, notes=("three entries are stale",))
    (failure,) = ElementTree.fromstring(junit.render(report)).iter("failure")
    assert failure.text == "three entries are stale"
