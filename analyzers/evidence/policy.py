"""Settings of the evidence review: `[tool.gates.evidence]`."""

from __future__ import annotations

from msgspec import field

from analyzers.policy import Glob, Pattern, Table


class EvidencePolicy(Table):
    kernels: tuple[Glob, ...] = ()
    """Files that hold kernels: a row must name each one that changed."""
    exempt: tuple[Glob, ...] = ("**/*.md", "docs")
    """Files that change nothing which runs: a change of these alone may say `N/A`."""
    devices: dict[str, Pattern] = field(default_factory=dict)
    """Device -> the pattern that finds it in a row's conditions and in the device of an artifact."""
