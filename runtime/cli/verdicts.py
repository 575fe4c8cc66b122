"""What became of every candidate for a call, as lines of a table and as data. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.candidates import SpecT, Verdict


def verdict_lines(verdicts: Sequence[Verdict[SpecT]]) -> list[str]:
    """One line a candidate: the verdict, its name, the reason."""
    width = max(len(row.spec.name) for row in verdicts)
    return [f"  {row.verdict:<10}  {row.spec.name:<{width}}  {row.reason}".rstrip() for row in verdicts]


def verdict_rows(noun: str, verdicts: Sequence[Verdict[SpecT]]) -> list[dict[str, str]]:
    """The same for JSON, the name under what a candidate is called."""
    return [{noun: row.spec.name, "verdict": row.verdict, "reason": row.reason} for row in verdicts]
