"""`gates reference`: check the generated page, write it, or print what it is made of."""

from __future__ import annotations

import json
from typing import Any

import click

from analyzers.errors import UserError
from gates.commands.options import settings_for
from gates.commands.running import Request, execute, gate_options
from gates.progress import terminal_progress
from gates.reference import GATE, read_tree, write_page
from gates.run import open_cache
from gates.settings.load import Loaded


@click.command("reference")
@gate_options
@click.option("--check", is_flag=True, help="Compare the page with the source, and change nothing; the default.")
@click.option("--write", is_flag=True, help="Write the page anew, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print what the page is made of.")
def command(check: bool, write: bool, as_json: bool, **options: Any) -> int:
    """Check that the generated page says what the source declares.

    With --json, exit status 1 means that something that the settings ask for is not among what is printed.
    """
    if check + write + as_json > 1:
        raise click.UsageError("--check, --write and --json exclude each other")
    request = Request(**options)
    loaded = settings_for(request.root)
    if as_json:
        return _print(request, loaded)
    if write:
        _write(request, loaded)
    return execute(request, loaded, (GATE.name,))


def _print(request: Request, loaded: Loaded) -> int:
    if request.judges or request.outputs or request.paths:
        raise click.UsageError("--json prints the whole page: leave out paths, --output and what judges")
    reading = read_tree(
        loaded, request.sources(loaded.file.parent), open_cache(not request.no_cache), terminal_progress("reading")
    )
    problems = [
        {"rule": found.rule, "path": found.path, "line": found.line, "message": found.message}
        for found in reading.problems
    ]
    click.echo(json.dumps({**reading.page.to_json(), "problems": problems}, indent=2, ensure_ascii=False))
    return 1 if problems else 0


def _write(request: Request, loaded: Loaded) -> None:
    sources = request.sources(loaded.file.parent)
    if sources.ref is not None or sources.staged:
        raise UserError("--write changes the working tree: leave out --ref and --staged")
    reading = read_tree(loaded, sources, open_cache(not request.no_cache), terminal_progress("reading"))
    path = reading.page.path
    if reading.problems:
        click.echo(f"{path}: not written, for something that it shows cannot be read", err=True)
        return
    write_page(loaded, reading.page)
    click.echo(f"{path}: written", err=True)
