"""`gates list`: the gates there are, and which of them this tree has configured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from analyzers.finding import Rule
from gates.commands.options import root_option
from gates.gate import Judge
from gates.registry import NAMES, REVIEWS, SHARED_RULES, configured, gate, review
from gates.settings.load import find_root, load


@click.command("list")
@root_option
def command(root: Path | None) -> None:
    """List the gates, their rules, and whether this tree has configured them."""
    found = root if root is not None else find_root(Path.cwd())
    active = configured(load(found.resolve()).settings) if found is not None else ()
    for name in NAMES:
        _list_judge(gate(name), "configured" if name in active else "not configured")
    for name in REVIEWS:
        _list_judge(review(name), "of a change")
    click.echo("every gate")
    _list_rules(SHARED_RULES)


def _list_judge(judge: Judge, state: str) -> None:
    click.echo(f"{judge.name:<10} {state:<16}{judge.summary}")
    _list_rules(judge.rules)


def _list_rules(rules: Iterable[Rule]) -> None:
    for rule in rules:
        click.echo(f"  {rule.code}  {rule.name}")
