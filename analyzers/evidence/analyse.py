"""From a description and a change to findings: the one entrance of the evidence analyser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from analyzers.evidence.artifact_check import check_artifacts
from analyzers.evidence.body import COLUMNS, Body, Cell, Row
from analyzers.evidence.changes import Change
from analyzers.evidence.kinds import Kind, kind_of
from analyzers.evidence.policy import EvidencePolicy
from analyzers.evidence.rules import MALFORMED, NOT_EXEMPT, OTHER_KIND, UNFILLED, UNKNOWN_KIND, UNMENTIONED
from analyzers.finding import Finding, Rule
from analyzers.globs import matcher

_UNFILLED = re.compile(r"(?:todo\b.*|[.?\u2026\s]*)", re.IGNORECASE | re.DOTALL)
_TOLD = 20
"""Files that are told one by one."""


class Review(NamedTuple):
    """A description, and the change that it is about."""

    name: str
    """What findings call the description."""
    body: Body
    changes: Sequence[Change]
    files: Sequence[str]
    """Every file that changed."""
    read: Callable[[str], bytes | None]
    """What a file of the tree holds; None where there is none."""


def analyse(policy: EvidencePolicy, review: Review) -> list[Finding]:
    """Everything that is wrong with a description, without fingerprints and in no particular order."""
    body = review.body
    findings = [
        Finding(MALFORMED.code, review.name, flaw.line, 0, "", flaw.message, flaw.message, MALFORMED.fix)
        for flaw in body.flaws
    ]
    if body.not_applicable is not None and not findings:
        findings += _not_applicable(policy, review, body.not_applicable)
    for row in body.rows:
        findings += _row(policy, review, row)
    if body.rows:
        findings += _unmentioned(review)
        findings += _unshown_kernels(review)
    return findings


def _is_unfilled(cell: Cell) -> bool:
    return _UNFILLED.fullmatch(cell.text) is not None


def uncovered(policy: EvidencePolicy, files: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """The files because of which a change needs evidence: those that are not exempt, and those of what has changed."""
    exempt = matcher(policy.exempt)
    return sorted({*(path for path in files if not exempt(path)), *(change.subject.path for change in changes)})


def _not_applicable(policy: EvidencePolicy, review: Review, reason: Cell) -> Iterator[Finding]:
    if _is_unfilled(reason):
        yield _about(UNFILLED, review, reason, "N/A", "this N/A gives no reason")
    files = uncovered(policy, review.files, review.changes)
    if files:
        message = f"this says N/A, and the change is not only of what is exempt: {files[0]}"
        told = (*files[:_TOLD], *([f"and {len(files) - _TOLD} more"] if len(files) > _TOLD else []))
        yield replace(_about(NOT_EXEMPT, review, reason, "N/A", message), trace=lambda: told)


def _row(policy: EvidencePolicy, review: Review, row: Row) -> Iterator[Finding]:
    for column, cell in zip(COLUMNS, row, strict=True):
        if _is_unfilled(cell):
            yield _about(UNFILLED, review, cell, f"{row.path.text} {column}", f"{column} is not filled in")
    if _is_unfilled(row.evidence):
        return
    kind = kind_of(row.evidence.text)
    if kind is None:
        told = " or ".join(known.words for known in Kind)
        message = f"{row.evidence.text!r} is no kind of evidence: it is {told}"
        yield _about(UNKNOWN_KIND, review, row.evidence, row.evidence.text, message)
    elif not _is_unfilled(row.artifact):
        for rule, cell, message in check_artifacts(policy, row, kind, review.read):
            yield _about(rule, review, cell, cell.text, message)


def _unmentioned(review: Review) -> Iterator[Finding]:
    words = {name for row in review.body.rows for name in row.path.names}
    for change in review.changes:
        if not change.is_named(words):
            subject = change.subject
            message = f"the {subject.sort} {subject.name} has changed ({change.words}), and no row names it"
            line = subject.line if change.now else 0
            yield Finding(UNMENTIONED.code, subject.path, line, 0, "", subject.name, message, UNMENTIONED.fix)


def _unshown_kernels(review: Review) -> Iterator[Finding]:
    """EVD009, for each kernel of the tree that is backed by nothing but static plans."""
    for change in review.changes:
        rows = [row for row in review.body.rows if change.is_named(row.path.names)]
        kinds = {kind_of(row.evidence.text) for row in rows}
        if change.subject.sort == "kernel" and change.now and kinds == {Kind.PLAN}:
            name = change.subject.name
            message = f"a static plan says which route a call gets, and nothing of the kernel {name}"
            yield _about(OTHER_KIND, review, rows[0].evidence, name, message)


def _about(rule: Rule, review: Review, cell: Cell, subject: str, message: str) -> Finding:
    return Finding(rule.code, review.name, cell.line, cell.column, "", subject, message, rule.fix)
