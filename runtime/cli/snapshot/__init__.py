"""`v100 snapshot`: what the runtime's own selectors choose, frozen and compared. Needs no GPU, no torch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from runtime.cli.snapshot.cells import CATEGORIES, outcomes
from runtime.cli.snapshot.document import (
    Expectation,
    Snapshot,
    changes,
    check_expectations,
    described,
    idle,
    read,
    read_expectations,
    render,
)
from runtime.cli.snapshot.observed import Trace, disagreements, read_trace
from runtime.errors import ConfigError

_ALL = "all"
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("snapshot", short_help="Freeze or compare what the selectors choose.")
@click.option(
    "--category",
    "names",
    multiple=True,
    required=True,
    type=click.Choice((*CATEGORIES, _ALL)),
    metavar="NAME",
    help=f"{', '.join(CATEGORIES)} or {_ALL}; may be repeated.",
)
@click.option("--output", type=_FILE, help="Write the snapshot to a file.")
@click.option("--check", "frozen", type=_FILE, help="Print what differs from a snapshot.")
@click.option("--expected-changes", "expected", type=_FILE, help="With --check: changes that are announced, as JSON.")
@click.option("--observed-trace", "trace", type=_FILE, help="Hold what a trace saw against the choices, too.")
def command(
    names: Sequence[str], output: Path | None, frozen: Path | None, expected: Path | None, trace: Path | None
) -> None:
    """Ask the selectors that the engine asks for every call of a declared matrix: threshold neighbours, fallbacks,
    rejected shapes and missing packages among them.

    A cell names the route or provider that takes the call, why each better one refuses, and the operators that are
    declared for it. Announced changes are a JSON list of objects with `category`, `where` (axis -> value), `was` and
    `now`.

    Exit status: 0 nothing changed but what was announced; 1 something did, or an announced change did not come, or a
    trace saw what is not planned; 2 a file is not what it should be.
    """
    if expected is not None and frozen is None:
        raise click.UsageError("--expected-changes goes with --check: it announces what differs from a snapshot")
    if (output is None) == (frozen is None):
        raise click.UsageError("give either --output or --check")
    chosen = CATEGORIES if _ALL in names else tuple(dict.fromkeys(names))
    planned = {category: outcomes(category) for category in chosen}
    # All that is read is read before anything is printed or written.
    before = None if frozen is None else read(frozen)
    announced = [] if expected is None else read_expectations(expected)
    observed = None if trace is None else read_trace(trace)
    if expected is not None and before is not None:
        check_expectations(announced, [planned, before], expected)
    same = True
    if output is not None:
        _write(output, render(planned))
    if before is not None:
        same = _compare(before, planned, announced)
    if observed is not None:
        same = _observe(observed, planned) and same
    sys.exit(0 if same else 1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; name another --output") from None


def _compare(before: Snapshot, planned: Snapshot, announced: Sequence[Expectation]) -> bool:
    """Print what changed. Returns whether it is what was announced."""
    found = list(changes(before, planned))
    unexpected = [change for change in found if not any(announcement.covers(change) for announcement in announced)]
    for change in unexpected:
        click.echo(described(change))
    unfulfilled = idle(announced, found)
    for announcement in unfulfilled:
        where = " ".join(f"{axis}={value}" for axis, value in announcement.where.items()) or "all"
        click.echo(f"{announcement.category}: {where}: announced, and nothing of the kind has changed")
    cells = sum(map(len, planned.values()))
    click.echo(f"{cells} cells: {len(unexpected)} changed, {len(found) - len(unexpected)} changed as announced")
    return not unexpected and not unfulfilled


def _observe(trace: Trace, planned: Snapshot) -> bool:
    """Print what a trace saw that is not planned. Returns whether there was none of it."""
    found = list(disagreements(trace, planned))
    for line in found:
        click.echo(line)
    click.echo(f"{len(trace.native)} native dispatches observed on {trace.platform}: {len(found)} not as planned")
    return not found
