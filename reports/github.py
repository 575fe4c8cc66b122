"""The report as GitHub Actions workflow commands, which annotate the changed lines of a pull request.

Format: docs.github.com, "Workflow commands for GitHub Actions"; escaping as `@actions/core` does it.
"""

from __future__ import annotations

from analyzers.finding import Finding
from reports.escaping import printable, printable_lines
from reports.report import Report
from reports.wording import explanation


def render(report: Report) -> str:
    errors = [_error(finding, report) for finding in report.findings]
    notices = [f"::notice title=voltgate::{_message(note)}" for note in report.notes]
    return "".join(line + "\n" for line in (*errors, *notices))


def _error(finding: Finding, report: Report) -> str:
    properties = {"file": f"{report.prefix}{finding.path}"}
    if finding.line:
        properties["line"] = str(finding.line)
        if finding.column:
            properties["col"] = str(finding.column)
    properties["title"] = f"{finding.rule} {report.rules[finding.rule].name}"
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::error {written}::{_message(explanation(finding))}"


def _message(text: str) -> str:
    return "%0A".join(line.replace("%", "%25") for line in printable_lines(text))


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
