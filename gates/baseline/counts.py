"""Taking over a baseline of bare counts, as projects keep that count matches of a pattern in each file."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from analyzers.finding import Finding
from analyzers.nearest import nearest
from gates.baseline.entries import Baseline, Entry
from gates.baseline.format import BaselineError

Counts = Mapping[str, Mapping[str, int]]
"""Path, POSIX and relative to the root -> kind of coupling -> number of sites."""


class Fallen(NamedTuple):
    """A count that is already lower than recorded."""

    path: str
    kind: str
    recorded: int
    current: int


class Imported(Struct, frozen=True):
    baseline: Baseline
    """As many sites of each path and kind as the counts allow, in order of place."""
    exceeding: tuple[Finding, ...]
    """Findings beyond the counts: they stay new."""
    fallen: tuple[Fallen, ...]


def import_counts(
    counts: Counts, findings: Iterable[Finding], kind_of: Callable[[Finding], str], gate: str
) -> Imported:
    """Turn counts into a baseline of sites.

    Args:
        counts: what the other project recorded.
        findings: all couplings of today, with fingerprints, in order of place.
        kind_of: the kind of coupling that a finding is about.
        gate: whose baseline it becomes. To add it to one that exists, merge the two without an ancestor.
    """
    room = {(path, kind): count for path, kinds in counts.items() for kind, count in kinds.items()}
    accepted, exceeding = [], []
    for finding in findings:
        place = (finding.path, kind_of(finding))
        if room.get(place, 0):
            room[place] -= 1
            accepted.append(finding)
        else:
            exceeding.append(finding)
    fallen = [
        Fallen(path, kind, counts[path][kind], counts[path][kind] - left)
        for (path, kind), left in sorted(room.items())
        if left
    ]
    return Imported(Baseline.of(gate, map(Entry.of, accepted)), tuple(exceeding), tuple(fallen))


def parse_counts(content: bytes, where: str, kinds: Collection[str]) -> Counts:
    """Read `{path: {kind: count}}` from JSON.

    Args:
        content: the file's bytes.
        where: how messages name the file.
        kinds: the kinds of coupling that the settings define.

    Raises:
        BaselineError: it has another shape, a count below zero, or a kind that is not defined.
    """
    remedy = 'Give a JSON object such as {"src/engine.py": {"platform": 3}}'
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise BaselineError(where, f"not JSON: {error.msg}", remedy, error.lineno) from None
    except (ValueError, RecursionError):
        raise BaselineError(where, "not JSON in UTF-8", remedy) from None
    if not isinstance(document, dict):
        raise BaselineError(where, "not an object of paths", remedy)
    for path, row in document.items():
        if not isinstance(row, dict):
            raise BaselineError(where, f"what it has for {path!r} is not an object of counts", remedy)
        for kind, count in row.items():
            _check_count(path, kind, count, where)
            _check_kind(path, kind, kinds, where)
    return document


def _check_count(path: str, kind: str, count: Any, where: str) -> None:
    if type(count) is not int or count < 0:
        problem = f"the count of {kind!r} in {path!r} is {json.dumps(count)}"
        raise BaselineError(where, problem, "Give a whole number, 0 or more")


def _check_kind(path: str, kind: str, kinds: Collection[str], where: str) -> None:
    if kind not in kinds:
        near = nearest(kind, kinds)
        remedy = f"Did you mean {near!r}" if near else "Define a coupling pattern of this kind first"
        raise BaselineError(where, f"no coupling pattern has the kind {kind!r}, named for {path!r}", remedy)
