from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from report_samples import broken_report, debt, examples, reports

from reports import debt_json, json_report
from reports.debt_json import debt_schema
from reports.json_report import report_schema
from reports.report import Report, Verdict


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, refusing fields that it does not describe: what this version writes must all be documented."""
    for part in (schema, *schema["$defs"].values()):
        if part.get("type") == "object":
            part["additionalProperties"] = False
    return schema


@pytest.mark.parametrize("schema", [report_schema(), debt_schema()])
def test_the_schemas_are_schemas(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


@examples
@given(report=reports())
def test_every_report_satisfies_the_schema(report: Report) -> None:
    Draft202012Validator(closed(report_schema())).validate(json.loads(json_report.render(report)))


def test_every_debt_satisfies_the_schema() -> None:
    Draft202012Validator(closed(debt_schema())).validate(json.loads(debt_json.render(debt())))


@pytest.mark.parametrize("field", ["rule", "path", "line", "column", "message", "hint", "fingerprint", "symbol"])
def test_the_schema_demands_every_promised_field_of_a_finding(field: str) -> None:
    document = json.loads(json_report.render(broken_report()))
    del document["findings"][0][field]
    assert not Draft202012Validator(report_schema()).is_valid(document)


def test_the_schema_names_every_verdict() -> None:
    words = report_schema()["properties"]["verdict"]["enum"]
    assert words == [verdict.name.lower() for verdict in Verdict]


@examples
@given(report=reports())
def test_json_is_ascii_and_holds_no_unpaired_surrogate(report: Report) -> None:
    text = json_report.render(report)
    assert text.isascii()
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")


def test_an_import_chain_is_part_of_its_finding() -> None:
    document = json.loads(json_report.render(broken_report()))
    assert [len(finding["trace"]) for finding in document["findings"]] == [0, 0, 2, 0]
