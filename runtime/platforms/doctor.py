"""`v100 doctor`: what of this machine is fit for the runtime, and the command that mends what is not.

Never fails itself: torch is asked in another process, every other program is bounded in time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from runtime.platforms.judgement import Check, judge
from runtime.platforms.machine import examine


@dataclass(frozen=True, slots=True)
class Report:
    """Every check, in the order of reading."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether the runtime will work here, be it slowly."""
        return all(check.status != "fail" for check in self.checks)


def diagnose(search_path: Sequence[str] = (), timeout_seconds: float = 120.0) -> Report:
    """Examine this machine and judge it; the arguments are those of `machine.examine`."""
    return Report(tuple(judge(examine(search_path, timeout_seconds))))


def render(report: Report) -> str:
    """The report as plain text: one line a check, and the fix below it."""
    width = max(len(check.name) for check in report.checks)
    lines = []
    for check in report.checks:
        lines.append(f"{check.status:<6}  {check.name:<{width}}  {check.detail}")
        if check.fix:
            lines.append(f"{'':6}  {'':{width}}  fix: {check.fix}")
    return "\n".join(lines) + "\n"


def to_json(report: Report) -> str:
    """The report as JSON: `healthy`, and `checks` with name, status, detail and fix."""
    return json.dumps({"healthy": report.healthy, "checks": [asdict(check) for check in report.checks]}, indent=2)
