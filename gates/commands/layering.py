"""`gates layering`: the gate, its debt report, and taking over another project's counts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from gates.commands.options import (
    FORMATS,
    apply,
    baseline_options,
    no_cache_option,
    output_option,
    root_option,
    settings_for,
    source_options,
)
from gates.commands.output import terminal_width, write
from gates.commands.running import Request, execute
from gates.commands.verbs import GateGroup
from gates.layering import GATE
from gates.progress import terminal_progress
from gates.run import baseline_file, open_cache, save_baseline
from gates.settings.load import Loaded
from reports.formats import DEBT_FORMATS, debt_renderer

_ALL_FORMATS = tuple(dict.fromkeys((*FORMATS, *DEBT_FORMATS)))


@click.group("layering", cls=GateGroup)
def command() -> None:
    """Check layers, coupling and shape."""


@command.command("check", epilog="See also: gates layering import-baseline --help")
@apply(source_options, baseline_options)
@click.option("--report", is_flag=True, help="Print the debt, largest first, instead of what is new.")
@click.option(
    "--base",
    metavar="REV",
    help="Judge only what is new since the merge base with REV; with --report, show the trend since REV.",
)
@click.option("--format", "format_", type=click.Choice(_ALL_FORMATS), default="terminal", show_default=True)
@output_option(_ALL_FORMATS)
@click.argument("paths", nargs=-1)
def check(report: bool, **options: Any) -> int:
    """Check who may import whom, who may name what, and how large things may get.

    html is a format of --report; sarif, github and junit are formats of the check.
    """
    request = Request(**options)
    named = {request.format_, *(name for name, _ in request.outputs)}
    unfit = named - set(DEBT_FORMATS if report else FORMATS)
    if unfit:
        raise click.UsageError(f"{', '.join(sorted(unfit))}: no format of {'--report' if report else 'the check'}")
    if report and (request.update or request.accept_moves or request.strict):
        raise click.UsageError("--report only reports: leave out --update, --accept-moves and --strict")
    loaded = settings_for(request.root)
    if report:
        _report(request, loaded)
        return 0
    return execute(request, loaded, (GATE.name,))


@command.command("import-baseline")
@root_option
@no_cache_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_baseline(root: Path | None, no_cache: bool, file: Path) -> int:
    """Ratchet against FILE, a JSON object {path: {kind: count}} of coupling counts.

    Of each path and kind, as many of today's sites are accepted as FILE counts. Exit status 1 where there are more.
    """
    from gates.debt import take_over

    loaded = settings_for(root)
    imported = take_over(loaded, file, open_cache(not no_cache), terminal_progress("reading"))
    save_baseline(loaded, imported.baseline)
    click.echo(f"{len(imported.baseline.entries)} entries in {baseline_file(loaded, GATE.name)}")
    for fallen in imported.fallen:
        click.echo(f"{fallen.path}: {fallen.kind}: {fallen.recorded} recorded, {fallen.current} left")
    for finding in imported.exceeding:
        click.echo(f"{finding.path}:{finding.line}:{finding.column}: beyond the count: {finding.message}")
    return 1 if imported.exceeding else 0


def _report(request: Request, loaded: Loaded) -> None:
    from gates.debt import debt_of

    progress = terminal_progress("reading")
    sources = request.sources(loaded.file.parent)
    debt = debt_of(loaded, sources, request.base, open_cache(not request.no_cache), progress)
    if request.format_ == "terminal":
        from reports.debt_terminal import render
        from reports.terminal import wants_colour

        colour = wants_colour(sys.stdout, os.environ)
        click.echo(render(debt, width=terminal_width(), colour=colour), nl=False, color=colour)
    else:
        click.echo(debt_renderer(request.format_)(debt), nl=False)
    for name, file in request.outputs:
        write(file, debt_renderer(name)(debt))
