"""`gates env`: check the environment variables, write their reference page, or register those that are missing."""

from __future__ import annotations

from typing import Any

import click

from analyzers.errors import UserError
from gates.commands.options import settings_for
from gates.commands.running import Request, execute, gate_options
from gates.env import GATE, register_reads, write_reference


@click.command("env")
@gate_options
@click.option("--write", is_flag=True, help="Write the reference page anew.")
@click.option("--fix", is_flag=True, help="Add a stub to the registry for each variable that is read unregistered.")
def command(write: bool, fix: bool, **options: Any) -> int:
    """Check who uses which environment variable, and what the registries say of them."""
    request = Request(**options)
    loaded = settings_for(request.root)
    sources = request.sources(loaded.file.parent)
    if (write or fix) and (sources.ref is not None or sources.staged):
        raise UserError("--write and --fix change the working tree: leave out --ref and --staged")
    if fix:
        for path, names in register_reads(loaded, sources).items():
            click.echo(f"{path}: added a stub for {', '.join(names)}", err=True)
    if write:
        click.echo(f"{write_reference(loaded, sources)}: written", err=True)
    return execute(request, loaded, (GATE.name,))
