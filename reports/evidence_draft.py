"""A first table of evidence, filled in as far as the source allows; what only a person knows is marked `TODO`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from analyzers.evidence.body import COLUMNS, SECTION
from analyzers.evidence.changes import Change, counted
from analyzers.evidence.kinds import Kind
from reports.markdown import code, table

NONE = "none"
_TOLD = 8
"""Files that are told one by one."""


def render(
    changes: Sequence[Change], files: Sequence[str], uncovered: Sequence[str], snapshots: Mapping[str, str]
) -> str:
    """The section `Evidence` of a description.

    Args:
        changes: what a row must name.
        files: every file that changed.
        uncovered: those because of which the change needs evidence.
        snapshots: table of routes -> the artifact that holds its static plan.
    """
    return f"## {SECTION}\n\n{_content(changes, files, uncovered, snapshots)}\n"


def _content(
    changes: Sequence[Change], files: Sequence[str], uncovered: Sequence[str], snapshots: Mapping[str, str]
) -> str:
    if not uncovered:
        return f"N/A: only {_listed(files)}" if files else "N/A: nothing changes"
    rows = list(_rows(changes, snapshots)) or [_open_row(_listed(uncovered))]
    return table(COLUMNS, rows, "l" * len(COLUMNS))


def _rows(changes: Iterable[Change], snapshots: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """A row for each route, and one for each other sort of subject."""
    for sort, group in groupby(changes, key=lambda change: change.subject.sort):
        found = list(group)
        if sort == "route":
            yield from (_route(change, snapshots) for change in found)
        elif sort == "kernel":
            yield _open_row(", ".join(code(change.subject.name) for change in found))
        else:
            names = ", ".join(code(change.subject.name) for change in found)
            told = (f"{code(change.subject.name)}: {_words(change)}" for change in found)
            words = "; ".join(told) if len(found) > 1 else _words(found[0])
            yield names, NONE, NONE, words, Kind.PLAN.words, NONE, _todo("what is not shown")


def _route(change: Change, snapshots: Mapping[str, str]) -> tuple[str, ...]:
    subject = change.subject
    snapshot = snapshots.get(subject.table)
    planned = f"; in all {counted(subject.calls)} of the plan" if subject.calls else ""
    fallback = f"; else {code(subject.fallback)}" if subject.fallback else ""
    return (
        code(subject.name),
        code(subject.format) if subject.format else _todo("the formats"),
        code(subject.conditions) if subject.conditions else _todo("shape, TP and EP, graph"),
        f"{_words(change)}{planned}{fallback}",
        Kind.PLAN.words,
        code(snapshot) if snapshot else NONE,
        _todo("what was not observed or measured"),
    )


def _words(change: Change) -> str:
    return ", ".join(map(code, change.parts)) or change.words


def _open_row(files: str) -> tuple[str, ...]:
    """Of files whose source does not say what comes of them."""
    return (
        files,
        _todo("the formats"),
        _todo("shape, TP and EP, graph, device"),
        _todo("what runs, and what it falls back to"),
        _todo(", ".join(kind.words for kind in Kind)),
        _todo("path@sha256:DIGEST"),
        _todo("what is not shown"),
    )


def _listed(files: Sequence[str]) -> str:
    told = ", ".join(map(code, files[:_TOLD]))
    return f"{told} and {len(files) - _TOLD} more" if len(files) > _TOLD else told


def _todo(what: str) -> str:
    return f"TODO: {what}"
