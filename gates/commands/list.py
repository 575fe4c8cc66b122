"""`gates list`: the gates there are, and which of them this tree has configured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from analyzers.finding import Rule
from gates.commands.options import root_option
from gates.registry import NAMES, SHARED_RULES, configured, gate
from gates.settings.load import find_root, load


@click.command("list")
@root_option
def command(root: Path | None) -> None:
    """List the gates, their rules, and whether this tree has configured them."""
    found = root if root is not None else find_root(Path.cwd())
    active = configured(load(found.resolve()).settings) if found is not None else ()
    for name in NAMES:
        known = gate(name)
        click.echo(f"{name:<10} {'configured' if name in active else 'not configured':<16}{known.summary}")
        _list_rules(known.rules)
    click.echo("every gate")
    _list_rules(SHARED_RULES)


def _list_rules(rules: Iterable[Rule]) -> None:
    for rule in rules:
        click.echo(f"  {rule.code}  {rule.name}")
