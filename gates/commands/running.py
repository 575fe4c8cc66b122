"""What `gates check` and each single gate do: run, hold against the baseline, report, and leave with the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from analyzers.errors import UserError
from gates.commands.options import (
    apply,
    base_option,
    baseline_options,
    format_options,
    relative_paths,
    source_options,
)
from gates.commands.output import publish
from gates.gate import Gate
from gates.progress import terminal_progress
from gates.registry import gate
from gates.reporting import report_of
from gates.run import Sources, open_cache, run
from gates.settings.load import Loaded
from reports.report import Report

gate_options = apply(
    source_options,
    base_option,
    baseline_options,
    format_options,
    click.argument("paths", nargs=-1),
)


class Request(Struct, frozen=True):
    """The options of one run, as the command line gives them."""

    root: Path | None
    ref: str | None
    staged: bool
    base: str | None
    no_cache: bool
    update: bool
    accept_moves: bool
    strict: bool
    format_: str
    outputs: list[tuple[str, Path]]
    paths: tuple[str, ...]

    @property
    def judges(self) -> bool:
        """Whether an option is there that means nothing to what only lists."""
        return self.base is not None or self._changes_or_holds_to_baselines

    @property
    def _changes_or_holds_to_baselines(self) -> bool:
        return self.update or self.accept_moves or self.strict

    def sources(self, root: Path) -> Sources:
        if self.ref is not None and self.staged:
            raise UserError("--ref and --staged exclude each other")
        if (self.update or self.accept_moves) and (self.ref is not None or self.staged or self.paths):
            raise UserError("--update and --accept-moves work on the whole working tree: leave out paths and revisions")
        if self.base is not None and self._changes_or_holds_to_baselines:
            raise UserError("--base asks no baseline: leave out --update, --accept-moves and --strict")
        return Sources(self.ref, self.staged, relative_paths(root, self.paths))


def execute(request: Request, loaded: Loaded, names: Sequence[str]) -> int:
    """Run the named gates and report; the exit status."""
    sources = request.sources(loaded.file.parent).begun(loaded.file.parent)
    report = _report(request, loaded, [gate(name) for name in names], sources)
    publish(report, request.format_, request.outputs)
    return int(report.verdict)


def _report(request: Request, loaded: Loaded, gates: Sequence[Gate], sources: Sources) -> Report:
    cache, progress = open_cache(not request.no_cache), terminal_progress("reading")
    if request.base is not None:
        from gates.introduced import introduced

        return introduced(loaded, gates, sources, request.base, cache=cache, progress=progress)
    outcome = run(loaded, gates, sources, cache=cache, progress=progress)
    if request.update or request.accept_moves:
        from gates.update import update_baselines

        return update_baselines(outcome, accept_moves=request.accept_moves)
    return report_of(outcome, strict=request.strict)
