"""The `v100` command: a thin front that loads each subcommand, and Torch, only when it is asked for."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.metadata import version

import click

from runtime.errors import VoltgateError

_INTERRUPTED = 130
"""What shells report for a program ended by Ctrl-C."""

_COMMANDS = {
    "generate": "runtime.cli.generate",
    "chat": "runtime.cli.chat",
    "bench": "runtime.cli.bench",
    "explain": "runtime.cli.explain",
    "doctor": "runtime.cli.doctor",
}

_RUNTIME_MODULES = frozenset({"torch", "numpy", "safetensors", "tokenizers", "jinja2"})


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
@click.version_option(version("voltgate"), "-V", "--version", message="voltgate %(version)s")
def cli() -> None:
    """Run language models on a V100, or on any CPU.

    Exit status: 0 done, 1 the model or a request failed, 2 a setting, a file or the installation is wrong.
    """


def main() -> None:
    """Run the command line. A user's mistake ends in one line on standard error, never in a traceback."""
    warnings.showwarning = _warn
    try:
        cli.main(prog_name="v100", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except VoltgateError as error:
        _complain(str(error))
    except ModuleNotFoundError as error:
        if error.name not in _RUNTIME_MODULES:
            raise
        _complain(f"{error.name} is not installed; the runtime needs it: pip install 'voltgate[runtime]'")
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has closed it; there is nobody left to tell.
        sys.stderr.close()
        sys.exit(0)


def _warn(message: Warning | str, *place: object, **more: object) -> None:
    click.echo(f"warning: {message}", err=True)


def _complain(message: str) -> None:
    click.echo(f"error: {message}", err=True)
    sys.exit(2)
