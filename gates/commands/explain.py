"""`gates explain`: the page of a rule, and the folder of all pages."""

from __future__ import annotations

from pathlib import Path

import click

from gates.explain import find, page, stale_pages, write_pages
from gates.registry import all_rules


@click.command("explain")
@click.argument("rule", required=False)
@click.option("--write", type=click.Path(file_okay=False, path_type=Path), help="Write every page into a folder.")
@click.option("--check", type=click.Path(file_okay=False, path_type=Path), help="Fail if a folder of pages is stale.")
def command(rule: str | None, write: Path | None, check: Path | None) -> int:
    """Print the page of RULE, such as LAY001: what it finds, why, and how to fix it."""
    rules = all_rules().values()
    if sum(option is not None for option in (rule, write, check)) != 1:
        raise click.UsageError("give the code of one rule, or --write DIR, or --check DIR")
    if rule is not None:
        click.echo(page(find(rules, rule)), nl=False)
        return 0
    if write is not None:
        write_pages(rules, write)
        return 0
    assert check is not None
    stale = stale_pages(rules, check)
    if stale:
        click.echo(f"{check}: stale pages: {', '.join(stale)}; run `gates explain --write {check}`", err=True)
    return 1 if stale else 0
