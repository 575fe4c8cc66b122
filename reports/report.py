"""What a renderer is given: one run's verdict and everything that led to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from msgspec import Struct

from analyzers.finding import Finding, Rule


class Verdict(IntEnum):
    """The exit status, and nothing else is ever returned."""

    CLEAN = 0
    BROKEN = 1
    MISUSE = 2
    UNDECIDED = 3


class GateSummary(Struct, frozen=True):
    """One gate's part in a run."""

    name: str
    files: int
    """Files that the gate looked at."""
    new: int
    """Findings that fail the run."""
    accepted: int
    """Findings that the baseline holds."""
    waived: int
    stale: int
    """Baseline entries that no longer match anything."""
    rules: frozenset[str] = frozenset()
    """Codes of the rules that this gate decides. A finding of no gate's rule concerns the tree itself."""


class Report(Struct, frozen=True):
    """One run. `findings` holds what fails, in order of path and line."""

    version: str
    """Version of Voltgate."""
    verdict: Verdict
    findings: tuple[Finding, ...]
    gates: tuple[GateSummary, ...]
    notes: tuple[str, ...]
    """Sentences for a person: less debt than recorded, a waiver that expires soon."""
    rules: Mapping[str, Rule]
    """Every rule that a finding names."""
    text_of: Callable[[str], str | None]
    """The text of a file of the analysed tree, for code frames; None when it cannot be read."""
    seconds: float
    prefix: str = ""
    """The root's folder inside its repository, ending with a slash, for readers that know only the repository;
    empty where the root is the repository."""
