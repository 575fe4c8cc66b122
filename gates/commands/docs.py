"""`gates docs`: check the links of maintained documents, or put them right."""

from __future__ import annotations

from typing import Any

import click

from analyzers.errors import UserError
from gates.commands.options import settings_for
from gates.commands.running import Request, execute, gate_options
from gates.docs import GATE, fix_links
from reports.wording import plural


@click.command("docs")
@gate_options
@click.option("--fix", is_flag=True, help="Rename each broken link that can have meant one target only.")
def command(fix: bool, **options: Any) -> int:
    """Check that the local links of maintained documents lead somewhere."""
    request = Request(**options)
    loaded = settings_for(request.root)
    if fix:
        sources = request.sources(loaded.file.parent)
        if sources.ref is not None or sources.staged:
            raise UserError("--fix changes the working tree: leave out --ref and --staged")
        for path, count in fix_links(loaded, sources).items():
            click.echo(f"{path}: {plural(count, 'link')} renamed", err=True)
    return execute(request, loaded, (GATE.name,))
