"""The `gates` command: a thin front that loads each subcommand when it is asked for."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

import click

from analyzers.errors import UserError
from gates import __version__

_INTERRUPTED = 130
"""What shells report for a program ended by Ctrl-C."""

_COMMANDS = {
    "check": "gates.commands.check",
    "layering": "gates.commands.layering",
    "docs": "gates.commands.docs",
    "config": "gates.commands.config",
    "routes": "gates.commands.routes",
    "env": "gates.commands.env",
    "reference": "gates.commands.reference",
    "evidence": "gates.commands.evidence",
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
    _prepare_streams()
    for name in {"SIGTERM", "SIGHUP"} & set(dir(signal)):
        signal.signal(getattr(signal, name), _end)
    try:
        status = cli.main(prog_name="gates", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except UserError as error:
        _complain(str(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(_INTERRUPTED)
    except OSError as error:
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            _complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
        sys.exit(2)
    except Exception:
        sys.excepthook(*sys.exc_info())
        _complain(f"this is a bug in voltgate {__version__}; please report it with the lines above")
    _leave(status if isinstance(status, int) else 0)


def _prepare_streams() -> None:
    """A closed stream is empty and swallows what is written; one in a narrow encoding gets escapes instead of failing.

    Each gets back the descriptor that was closed, which is the lowest free one, before any other file takes it.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """What could not be written must not be tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(status: int) -> NoReturn:
    """End at once. All is written and no worker is left; to free a large tree's facts one by one would take longer
    than many a run."""
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


def _complain(message: str) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(2)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Unwind, so that workers are ended and no temporary file stays."""
    sys.exit(128 + number)
