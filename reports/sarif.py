"""The report as SARIF 2.1.0 (OASIS, errata 01), which GitHub code scanning and many editors read."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from analyzers.finding import Finding, Rule
from reports.escaping import encodable
from reports.report import Report, Verdict
from reports.wording import explanation

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report) -> str:
    codes = sorted(report.rules)
    index = {code: position for position, code in enumerate(codes)}
    run = {
        "tool": {
            "driver": {
                "name": "Voltgate",
                "version": report.version,
                "rules": [_rule(report.rules[code]) for code in codes],
            }
        },
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository."}}},
        "results": [_result(finding, index, report.prefix) for finding in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    page = (rule.why, "**Bad**", rule.bad, "**Good**", rule.good, "**How to fix it**", rule.fix)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": f"{rule.what}\n\n{rule.why}"},
        "help": {"text": f"{rule.why}\n\nHow to fix it: {rule.fix}", "markdown": "\n\n".join(page)},
        "defaultConfiguration": {"level": "error"},
    }


def _invocation(report: Report) -> dict[str, Any]:
    notes = [{"level": "note", "message": {"text": encodable(note)}} for note in report.notes]
    return {
        "executionSuccessful": report.verdict is not Verdict.MISUSE,
        "exitCode": int(report.verdict),
        "toolExecutionNotifications": notes,
    }


def _result(finding: Finding, index: dict[str, int], prefix: str) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": "error",
        "message": {"text": encodable(explanation(finding))},
        "locations": [_location(finding, prefix)],
        "partialFingerprints": {"voltgate/v1": finding.fingerprint},
    }


def _location(finding: Finding, prefix: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(prefix + finding.path), "uriBaseId": "SRCROOT"}}
    if finding.line:
        column = {"startColumn": finding.column} if finding.column else {}
        physical["region"] = {"startLine": finding.line, **column}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.symbol:
        location["logicalLocations"] = [{"fullyQualifiedName": encodable(finding.symbol)}]
    return location


def _uri(path: str) -> str:
    """A relative URI reference with the file name's own bytes percent-encoded (RFC 3986, section 2.1)."""
    try:
        name = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a Windows name with an unpaired surrogate, which stands for no byte
        name = path.encode("utf-8", "surrogatepass")
    return quote(name)
