"""The report as JUnit XML, which most CI systems show as test results.

There is no standard; the elements and attributes here are those that Jenkins, GitLab and Azure all read.
"""

from __future__ import annotations

from xml.etree import ElementTree

from analyzers.finding import Finding
from reports.escaping import printable, printable_lines
from reports.report import Report
from reports.wording import explanation, location, verdict_sentence

TREE_SUITE = "sources"
"""The suite of findings that concern the tree itself, such as a file that cannot be read."""


def render(report: Report) -> str:
    """The report in pure ASCII, which no encoding of a pipe can spoil."""
    root = ElementTree.Element("testsuites", name="voltgate")
    for name, found in _suites(report).items():
        suite = _add_suite(root, name)
        for finding in found:
            _add_failure(suite, finding, report)
        if not found:
            _add_case(suite, "no new findings")
    if report.verdict and not report.findings:
        _add_verdict(root, report)
    _count(root)
    root.set("time", f"{report.seconds:.3f}")
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode").encode("ascii", "xmlcharrefreplace").decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suites(report: Report) -> dict[str, list[Finding]]:
    """Each gate's findings by the gate's name, and those of no gate when there are any.

    A rule that several gates share belongs to the first of them, so that a finding is told once.
    """
    owner = {rule: gate.name for gate in reversed(report.gates) for rule in gate.rules}
    suites: dict[str, list[Finding]] = {gate.name: [] for gate in report.gates}
    for finding in report.findings:
        suites.setdefault(owner.get(finding.rule, TREE_SUITE), []).append(finding)
    return suites


def _add_suite(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(root, "testsuite", name=name)


def _add_case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=suite.get("name", ""), name=name)


def _add_verdict(root: ElementTree.Element, report: Report) -> None:
    """A failing case for a run that fails without a finding: the file must not look green."""
    case = _add_case(_add_suite(root, "verdict"), verdict_sentence(report))
    failure = ElementTree.SubElement(case, "failure", type=report.verdict.name.lower())
    failure.text = "\n".join(line for note in report.notes for line in printable_lines(note))


def _count(root: ElementTree.Element) -> None:
    """Set the totals that readers expect on each suite and on the whole."""
    for element in (root, *root.iter("testsuite")):
        element.set("tests", str(len(list(element.iter("testcase")))))
        element.set("failures", str(len(list(element.iter("failure")))))
        element.set("errors", "0")


def _add_failure(suite: ElementTree.Element, finding: Finding, report: Report) -> None:
    title = f"{finding.rule} {report.rules[finding.rule].name}: {location(finding)}"
    case = _add_case(suite, printable(title))
    case.set("file", printable(finding.path))
    if finding.line:
        case.set("line", str(finding.line))
    message = printable(finding.message)
    failure = ElementTree.SubElement(case, "failure", type=finding.rule, message=message)
    failure.text = "\n".join((printable(location(finding)), *printable_lines(explanation(finding))))
