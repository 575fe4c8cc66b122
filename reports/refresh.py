"""What became of every baseline when they were refreshed, and how that is put into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from analyzers.finding import Finding
from reports.escaping import printable_lines
from reports.report import Verdict
from reports.wording import location

SHOWN = 10
"""Of one kind of change in one baseline, and of the waivers; the rest is counted."""


class GateRefresh(Struct, frozen=True):
    """What a refresh makes of one gate's baseline, each change in one line."""

    gate: str
    before: int
    """Entries."""
    after: int
    fixed: tuple[str, ...]
    """Entries that are gone because their violation is."""
    lowered: tuple[str, ...]
    """Entries that accept a smaller amount from now on."""
    recorded: tuple[str, ...]
    """Entries that came in since a waiver covers them, and that was asked for."""
    moved: tuple[str, ...]
    """Violations that may only have moved: until a person decides, the old entry stays and the new one is not taken."""
    refused: tuple[Finding, ...]
    """New violations, which no baseline takes."""


class Refresh(Struct, frozen=True):
    """One refresh of all baselines."""

    gates: tuple[GateRefresh, ...]
    notices: tuple[str, ...]
    """Sentences about waivers, first baselines and files that could not be read."""
    waivers: tuple[str, ...]
    """A waiver in TOML for each rule and file of what was refused, its reason left open."""
    settings: str
    """The file that they belong into."""
    written: bool
    """Whether the files were written; if not, they would have been."""
    verdict: Verdict


class Section(NamedTuple):
    """One kind of change in one baseline."""

    title: str
    sign: str
    changes: Sequence[str]


def sections(gate: GateRefresh) -> list[Section]:
    """The kinds of changes that there are."""
    refused = [f"{location(finding)} {finding.rule} {finding.message}" for finding in gate.refused]
    kinds = (
        Section("fixed, and taken out", "-", gate.fixed),
        Section("lowered to what there is", "-", gate.lowered),
        Section("recorded because a waiver covers it", "+", gate.recorded),
        Section("undecided: if the code only moved, run `gates check --accept-moves`", ">", gate.moved),
        Section("refused: a baseline never grows", "!", refused),
    )
    return [section for section in kinds if section.changes]


def more(items: Sequence[str]) -> list[str]:
    """A line that says how many items are not shown, if there are any."""
    return [f"and {len(items) - SHOWN:,} more"] if len(items) > SHOWN else []


def invitation(refresh: Refresh) -> str:
    """What stands above the waivers."""
    return f"Fix what was refused. Or let it stand until a date: give a reason, and add to {refresh.settings}:"


def waiver_lines(refresh: Refresh) -> list[str]:
    """The waivers, line by line; a comment says how many are left out."""
    blocks = [*refresh.waivers[:SHOWN], *(f"# {left}\n" for left in more(refresh.waivers))]
    return printable_lines("\n".join(blocks).rstrip("\n"))


def conclusions(refresh: Refresh) -> list[str]:
    """The outcome in a sentence or two."""
    outcome = {
        Verdict.CLEAN: "Nothing stands that its baseline does not accept.",
        Verdict.UNDECIDED: "A person must decide whether code has moved.",
    }.get(refresh.verdict, "Something stands that no baseline accepts.")
    return [outcome] if refresh.written else [outcome, "This was a dry run: nothing was written."]
