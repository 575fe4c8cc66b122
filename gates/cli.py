"""The `gates` command: a thin front that loads each subcommand when it is asked for."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from io import TextIOWrapper

import click

from analyzers.errors import UserError
from gates import __version__

_INTERRUPTED = 130
"""What shells report for a program ended by Ctrl-C."""

_COMMANDS = {
    "check": "gates.commands.check",
    "layering": "gates.commands.layering",
    "docs": "gates.commands.docs",
    "baseline": "gates.commands.baseline",
    "init": "gates.commands.init",
    "list": "gates.commands.list",
    "explain": "gates.commands.explain",
    "facts": "gates.commands.facts",
    "schema": "gates.commands.schema",
    "cache": "gates.commands.cache",
    "completion": "gates.commands.completion",
}


class _LazyGroup(click.Group):
    """Imports the module of a subcommand on first use; each calls its own `command`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command = import_module(_COMMANDS[name]).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="voltgate %(version)s")
def cli() -> None:
    """Compare what a source tree is with what its maintainers agreed it should be.

    Exit status: 0 clean, 1 a rule is broken, 2 the tool or its settings are wrong, 3 a person must decide.
    """


def main() -> None:
    """Run the command line and leave with the status of its verdict.

    A run is short and builds hardly any cycles, so collecting garbage would only cost time; and pydantic would look
    for plugins in every installed distribution, which takes longer than all that it does for us.
    """
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(prog_name="gates", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except Exception:
        sys.excepthook(*sys.exc_info())
        click.echo(f"error: this is a bug in voltgate {__version__}; please report it with the lines above", err=True)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
