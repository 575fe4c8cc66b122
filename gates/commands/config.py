"""`gates config`: check who owns which setting, or print the inventory of all settings."""

from __future__ import annotations

import json
from typing import Any

import click

from analyzers.facts import FactBase
from gates.commands.options import settings_for
from gates.commands.running import Request, execute, gate_options
from gates.config import GATE, configuration_of
from gates.progress import terminal_progress
from gates.run import open_cache
from gates.settings.load import Loaded


@click.command("config")
@gate_options
@click.option("--json", "as_json", is_flag=True, help="Print the inventory of all settings instead of checking them.")
def command(as_json: bool, **options: Any) -> int:
    """Check that every setting has one owner, and somebody who reads it."""
    request = Request(**options)
    loaded = settings_for(request.root)
    if not as_json:
        return execute(request, loaded, (GATE.name,))
    if request.format_ not in ("terminal", "json"):
        raise click.UsageError(f"--json prints the inventory as JSON, not as {request.format_}")
    if request.judges or request.outputs or request.paths:
        raise click.UsageError("--json prints the whole inventory: leave out paths, --output and what judges")
    click.echo(json.dumps(_inventory(request, loaded), indent=2, ensure_ascii=False))
    return 0


def _inventory(request: Request, loaded: Loaded) -> dict[str, Any]:
    from analyzers.configuration.inventory import inventory

    cache = open_cache(not request.no_cache)
    context = request.sources(loaded.file.parent).context(loaded, cache)
    facts = FactBase(context.tree, cache)
    facts.gather(GATE.needs(context), terminal_progress("reading"))
    return inventory(configuration_of(context, facts))
