"""`gates completion`: the script that teaches a shell to complete `gates`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print a completion script.

    For bash: `gates completion bash > ~/.local/share/bash-completion/completions/gates`.
    """
    completion = get_completion_class(shell)
    assert completion is not None
    program = click.get_current_context().find_root().command
    click.echo(completion(program, {}, "gates", "_GATES_COMPLETE").source())
