"""`gates cache`: where facts are remembered."""

from __future__ import annotations

import click

from analyzers.cache import FactCache, default_file


@click.group("cache")
def command() -> None:
    """Look after the fact cache."""


@command.command("clear")
def clear() -> None:
    """Delete the fact cache; the next run reads every file again."""
    file = default_file()
    freed = FactCache(file).clear()
    click.echo(f"{file}: {freed / 1e6:.1f} MB freed" if freed else f"{file}: there was nothing to clear")


@command.command("path")
def path() -> None:
    """Print where the fact cache is."""
    click.echo(default_file())
