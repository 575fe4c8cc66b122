"""A refresh of the baselines as GitHub-flavoured Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from reports.markdown import code, prose, table
from reports.refresh import SHOWN, GateRefresh, Refresh, conclusions, invitation, more, sections, waiver_lines

_COLUMNS = ("Baseline", "Before", "Now", "Fixed", "Lowered", "Recorded", "Moved", "Refused")


def render(refresh: Refresh) -> str:
    blocks = ["### Baselines", table(_COLUMNS, map(_row, refresh.gates), "lrrrrrrr")]
    blocks += [block for gate in refresh.gates for block in _lists(gate)]
    blocks += [f"> **Note:** {prose(notice)}" for notice in refresh.notices]
    if refresh.waivers:
        blocks += [prose(invitation(refresh)), "\n".join(["```toml", *waiver_lines(refresh), "```"])]
    blocks.append(prose(" ".join(conclusions(refresh))))
    return "\n\n".join(blocks) + "\n"


def _row(gate: GateRefresh) -> tuple[str, ...]:
    kinds = (gate.fixed, gate.lowered, gate.recorded, gate.moved, gate.refused)
    return (code(gate.gate), *(f"{count:,}" for count in (gate.before, gate.after, *map(len, kinds))))


def _lists(gate: GateRefresh) -> Iterator[str]:
    for kind in sections(gate):
        shown = [f"* {code(change)}" for change in kind.changes[:SHOWN]]
        items = "\n".join([*shown, *(f"* {left}" for left in more(kind.changes))])
        yield f"{code(gate.gate)}: {len(kind.changes):,} {prose(kind.title)}\n\n{items}"
