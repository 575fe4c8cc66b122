"""Merging baselines, as git's merge driver for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gates.baseline.entries import Baseline
from gates.baseline.format import BaselineError, parse
from gates.baseline.store import read, save


def merge(base: Baseline, ours: Baseline, theirs: Baseline) -> Baseline:
    """What either side removed is gone, what either side added is there, and of two changed amounts the smaller holds.

    Commutative and idempotent. Associative too, unless one side removes and another adds sites of the very same
    violation, or one lowers and another raises its amount.
    """
    old, left, right = base.amounts(), ours.amounts(), theirs.amounts()
    merged = (
        replace(entry, amount=_amount(entry.fingerprint, old, left, right))
        for entry in {entry.fingerprint: entry for entry in (*ours.entries, *theirs.entries)}.values()
        if entry.fingerprint not in old or entry.fingerprint in left.keys() & right.keys()
    )
    return Baseline.of(ours.gate, merged)


def _amount(fingerprint: str, old: Mapping[str, int], left: Mapping[str, int], right: Mapping[str, int]) -> int:
    """What changed since the base; the smaller where both sides changed it, or where both added the entry."""
    sides = {side[fingerprint] for side in (left, right) if fingerprint in side}
    return min(sides - {old.get(fingerprint)} or sides)


def merge_files(base: Path, ours: Path, theirs: Path, name: str) -> Baseline:
    """Git's merge driver: merge into the file `ours`, from `gates baseline merge %O %A %B %P`.

    Args:
        base: the common ancestor; missing or empty where there is none.
        ours: read, and replaced by the result.
        theirs: the other side.
        name: the path of the baseline, for messages.

    Raises:
        BaselineError: a side cannot be read or belongs to another gate; `ours` is as it was.
    """
    mine = _side(ours, f"{name} (ours)")
    other = _side(theirs, f"{name} (theirs)", mine.gate)
    ancestor = _side(base, f"{name} (base)", mine.gate) if read(base) else Baseline(mine.gate)
    merged = merge(ancestor, mine, other)
    save(ours, merged)
    return merged


def _side(path: Path, where: str, gate: str | None = None) -> Baseline:
    content = read(path)
    if content is None:
        raise BaselineError(where, f"there is no file {path}", "Name the files as git does: %O %A %B %P")
    return parse(content, where, gate)
