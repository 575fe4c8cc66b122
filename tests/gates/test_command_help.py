"""What `--help` shows of each command."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from gates.cli import cli


def paths(group: click.Group) -> Iterator[tuple[str, ...]]:
    """The words of each command below a group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (name,)
        if isinstance(command, click.Group):
            yield from ((name, *rest) for rest in paths(command))


@pytest.mark.parametrize("path", list(paths(cli)), ids=" ".join)
def test_the_usage_names_the_command_and_what_may_follow(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*path, "--help"], prog_name="gates", catch_exceptions=False)

    # The check of a gate goes by the gate's own name.
    told = " ".join(("gates", *path)).removesuffix(" check" if len(path) > 1 else "")
    assert shown.output.startswith(f"Usage: {told} [")
