"""The report as one JSON object, for machines; `reports/schemas/report-v1.json` describes it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from analyzers.finding import Finding
from reports.escaping import encodable
from reports.report import GateSummary, Report
from reports.wording import trace_lines

VERSION = 1
"""Version of the format. New fields may join; a change that breaks a reader raises it."""


def render(report: Report) -> str:
    """The report in pure ASCII, which no encoding of a pipe can spoil."""
    return json.dumps(document(report), indent=2) + "\n"


def report_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that every report satisfies."""
    schema: dict[str, Any] = json.loads(files("reports").joinpath("schemas/report-v1.json").read_text("utf-8"))
    return schema


def document(report: Report) -> dict[str, Any]:
    """The object that `render` writes."""
    return {
        "version": VERSION,
        "tool": {"name": "voltgate", "version": report.version},
        "verdict": report.verdict.name.lower(),
        "findings": [_finding(finding) for finding in report.findings],
        "gates": [_gate(gate) for gate in report.gates],
        "notes": [encodable(note) for note in report.notes],
        "seconds": round(report.seconds, 3),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": encodable(finding.rule),
        "path": encodable(finding.path),
        "line": finding.line,
        "column": finding.column,
        "symbol": encodable(finding.symbol),
        "message": encodable(finding.message),
        "hint": encodable(finding.hint),
        "trace": [encodable(line) for line in trace_lines(finding)],
        "fingerprint": finding.fingerprint,
    }


def _gate(gate: GateSummary) -> dict[str, Any]:
    return {
        "name": gate.name,
        "files": gate.files,
        "new": gate.new,
        "accepted": gate.accepted,
        "waived": gate.waived,
        "stale": gate.stale,
    }
