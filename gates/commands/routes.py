"""`gates routes`: the gate, the inventory and matrix of routes, and snapshots of the static plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from analyzers.errors import UserError
from analyzers.facts import FactBase
from analyzers.routes.inventory import inventory
from analyzers.routes.matrix import matrix
from analyzers.routes.snapshot import compare, is_planned, parse, parse_expectations, plans_of, render
from gates.commands.options import apply, no_cache_option, root_option, settings_for
from gates.commands.running import Request, execute, gate_options
from gates.commands.verbs import GateGroup
from gates.files import write_atomically
from gates.progress import terminal_progress
from gates.routes import GATE, Declared, read
from gates.run import Sources, open_cache
from gates.settings.load import Loaded
from reports.plan_changes import render as render_changes
from reports.routes_inventory import inventory_markdown, matrix_markdown, render_json


@click.group("routes", cls=GateGroup)
def command() -> None:
    """Check declared routes, list them, and freeze the plan that they make."""


@command.command("check", epilog="See also: gates routes snapshot --help")
@gate_options
@click.option("--inventory", "lists_all", is_flag=True, help="Print routes, operators and call sites instead.")
@click.option("--matrix", "lists_matrix", is_flag=True, help="Print what each route takes, by format and shape.")
def check(*, lists_all: bool, lists_matrix: bool, **options: Any) -> int:
    """Check that declared routes say what they mean, and that the operators they bind exist.

    The inventory and the matrix are printed as markdown (the default) or json, whatever is wrong with the routes.
    """
    request = Request(**options)
    loaded = settings_for(request.root)
    if not (lists_all or lists_matrix):
        return execute(request, loaded, (GATE.name,))
    if lists_all and lists_matrix:
        raise click.UsageError("give either --inventory or --matrix")
    option = "--inventory" if lists_all else "--matrix"
    if request.format_ not in ("terminal", "markdown", "json") or request.outputs:
        raise click.UsageError(f"{option} is printed as markdown or json, and to standard output only")
    if request.judges or request.paths:
        raise click.UsageError(f"{option} only lists, and all there is: leave out paths and what is about baselines")
    declared, facts = _read(loaded, request.sources(loaded.file.parent), no_cache=request.no_cache)
    if lists_all:
        found = inventory(declared.readings, declared.native, facts.problems)
        shown = render_json(found) if request.format_ == "json" else inventory_markdown(found)
    else:
        _refuse_unread(declared)
        rows = matrix(declared.readings)
        shown = render_json(rows) if request.format_ == "json" else matrix_markdown(rows)
    click.echo(shown, nl=False)
    return 0


@command.command("snapshot")
@apply(root_option, no_cache_option)
@click.option("--ref", metavar="REV", help="Plan for a git revision; nothing is checked out.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan to a file.")
@click.option(
    "--check",
    "frozen",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare with a file written before; exit status 1 where a cell has changed.",
)
@click.option(
    "--expected-changes",
    "expected",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --check: a JSON list of the changes that are meant, each with table, where, was and now.",
)
def snapshot(
    root: Path | None, no_cache: bool, ref: str | None, output: Path | None, frozen: Path | None, expected: Path | None
) -> int:
    """Freeze or compare the static plan: the declared route that each call of a matrix would get, and why.

    It is computed from declarations alone and says nothing of what exists or ran.
    """
    if (output is None) == (frozen is None):
        raise click.UsageError("give either --output or --check")
    if expected is not None and frozen is None:
        raise click.UsageError("--expected-changes goes with --check")
    loaded = settings_for(root)
    declared, _ = _read(loaded, Sources(ref=ref), no_cache=no_cache)
    _refuse_unread(declared)
    if not any(map(is_planned, declared.readings)):
        raise loaded.error(("routes", "tables"), "no ordered table has a matrix, so there is nothing to plan")
    plans = plans_of(declared.readings)
    if output is not None:
        _write(output, render(plans))
        return 0
    assert frozen is not None
    announced = parse_expectations(_text(expected), str(expected)) if expected is not None else []
    verdict = compare(parse(_text(frozen), str(frozen)), plans, announced)
    click.echo(render_changes(verdict), nl=False)
    return 1 if verdict.unexpected or verdict.idle else 0


def _refuse_unread(declared: Declared) -> None:
    for error in (error for reading in declared.readings for error in reading.errors):
        raise UserError(f"{error.place.path}:{error.place.line}: {error}: there is no plan of what is unread")


def _read(loaded: Loaded, sources: Sources, *, no_cache: bool) -> tuple[Declared, FactBase]:
    cache = open_cache(not no_cache)
    context = sources.context(loaded, cache)
    facts = FactBase(context.tree, cache)
    facts.gather(GATE.needs(context), terminal_progress("reading"))
    return read(context, facts), facts


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None


def _write(file: Path, text: str) -> None:
    try:
        write_atomically(file, text.encode())
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from None
