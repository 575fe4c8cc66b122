"""The `v100` command: a thin front that loads each subcommand, and Torch, only when it is asked for."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from io import TextIOWrapper

import click

from runtime.cli.lazy import LazyGroup
from runtime.errors import NumericsError, RequestError, VoltgateError

_INTERRUPTED = 130
"""What shells report for a program ended by Ctrl-C."""

_COMMANDS = {
    "generate": "runtime.cli.generate",
    "chat": "runtime.cli.chat",
    "bench": "runtime.cli.bench",
    "explain": "runtime.cli.explain",
    "snapshot": "runtime.cli.snapshot",
    "doctor": "runtime.cli.doctor",
    "kernels": "runtime.cli.kernels",
}

_RUNTIME_MODULES = frozenset({"torch", "numpy", "safetensors", "tokenizers", "jinja2"})


class _Failure(click.ClickException):
    """What a user is told when a request has failed."""

    def show(self, file: object = None) -> None:
        for line in self.message.splitlines():
            click.echo(f"error: {line}", err=True)


class _Misuse(_Failure):
    """What a user is told when a command cannot do its work at all."""

    exit_code = 2


class _Front(LazyGroup):
    """Turns what a subcommand raises into a line and an exit status."""

    def invoke(self, context: click.Context) -> object:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            try:
                return super().invoke(context)
            except (RequestError, NumericsError) as error:
                raise _Failure(str(error)) from None
            except VoltgateError as error:
                raise _Misuse(str(error)) from None
            except ImportError as error:
                raise _not_importable(error) from error
            except (click.Abort, KeyboardInterrupt):
                click.echo("\ninterrupted", err=True)
                context.exit(_INTERRUPTED)
            except OSError as error:
                _discard_output()
                if isinstance(error, BrokenPipeError):
                    context.exit(0)  # whoever reads the output has what was wanted
                raise _Misuse(f"{error.filename or 'standard output'}: {error.strerror or error}") from None
            except MemoryError:
                raise _Misuse("there is not enough memory for this; ask for less") from None


def _discard_output() -> None:
    """What could not be written must not be tried again when the interpreter ends."""
    with suppress(AttributeError, OSError):  # standard output may be closed, or none of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"voltgate {_version()}")
        context.exit()


@click.group(cls=_Front, modules=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Run language models on a V100, or on any CPU.

    Exit status: 0 done; 1 a request failed, or `doctor` found what must be mended; 2 an option, a setting, a file or
    the installation is wrong; 130 interrupted.
    """


def main() -> None:
    """Run the command line. A user's mistake ends in a line on standard error, never in a traceback."""
    # A closed stream is empty and swallows what is written. In this order each gets its own descriptor back.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A model may say what the encoding of the terminal has no letters for.
            stream.reconfigure(errors="backslashreplace")
    cli.main(prog_name="v100")


def _version() -> str:
    """The version of what is installed; nothing else knows it, and a checkout that only lies there has none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("voltgate")
    except PackageNotFoundError:
        return "(a source tree that is not installed)"


def _not_importable(error: ImportError) -> Exception:
    """What to raise for a module that cannot be imported: a part of the runtime that is missing is no bug."""
    from runtime.platforms.packages import RUNTIME_INSTALL

    module = (error.name or "").partition(".")[0]
    if module not in _RUNTIME_MODULES:
        return error
    if isinstance(error, ModuleNotFoundError):
        return _Misuse(f"{module} is not installed; the runtime needs it: {RUNTIME_INSTALL}")
    return _Misuse(f"{module} cannot be loaded: {error}; `v100 doctor` says what mends it")


def _warn(message: Warning | str, *_place: object, **_more: object) -> None:
    click.echo(f"warning: {message}", err=True)
