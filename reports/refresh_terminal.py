"""A refresh of the baselines for a terminal: plain text, one change a line."""

from __future__ import annotations

from collections.abc import Iterator

from reports.escaping import printable
from reports.refresh import SHOWN, GateRefresh, Refresh, conclusions, invitation, more, sections, waiver_lines
from reports.wording import plural


def render(refresh: Refresh) -> str:
    lines = [line for gate in refresh.gates for line in _gate(gate)]
    lines += [f"note: {notice}" for notice in refresh.notices]
    if refresh.waivers:
        lines += ["", invitation(refresh), "", *waiver_lines(refresh), ""]
    lines += conclusions(refresh)
    return "".join(f"{printable(line)}\n" for line in lines)


def _gate(gate: GateRefresh) -> Iterator[str]:
    kinds = sections(gate)
    entries = plural(gate.before, "entry", "entries")
    yield f"{gate.gate}: {entries} before, {gate.after:,} now" if kinds else f"{gate.gate}: {entries}, none changed"
    for kind in kinds:
        yield f"  {len(kind.changes):,} {kind.title}"
        yield from (f"    {kind.sign} {change}" for change in kind.changes[:SHOWN])
        yield from (f"    {left}" for left in more(kind.changes))
