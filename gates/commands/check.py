"""`gates check`: every configured gate over one reading of the tree."""

from __future__ import annotations

from typing import Any

import click

from analyzers.errors import UserError
from gates.commands.options import settings_for
from gates.commands.running import Request, execute, gate_options
from gates.registry import NAMES, configured


@click.command("check")
@gate_options
def command(**options: Any) -> int:
    """Run every configured gate once, over shared facts."""
    request = Request(**options)
    loaded = settings_for(request.root)
    names = configured(loaded.settings)
    if not names:
        raise UserError(f"{loaded.file}: no gate is configured; add a table for one of: {', '.join(NAMES)}")
    return execute(request, loaded, names)
