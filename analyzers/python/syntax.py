"""Whether Python files parse, asked of ruff: its parser knows newer syntax than the Python that runs this."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from analyzers.errors import UserError
from analyzers.source import Problem

_NEWEST = "py314"
"""Syntax that an older Python would refuse is no error here: which Python a tree is for is not ours to judge."""
_CRASHES = (signal.SIGABRT, signal.SIGSEGV)
"""How ruff ends where a file is nested more deeply than its stack can follow."""


class SyntaxCheckerError(UserError):
    """ruff cannot be run, or its answer cannot be understood."""


def check_syntax(sources: Mapping[str, Path | str]) -> dict[str, Problem]:
    """The first syntax error of each source that has one; arguments and errors are those of `checking_syntax`."""
    with checking_syntax(sources) as problems:
        return problems()


@contextmanager
def checking_syntax(sources: Mapping[str, Path | str]) -> Iterator[Callable[[], dict[str, Problem]]]:
    """Have sources checked while the block goes on. It is given what waits for the first error of each that has one.

    Args:
        sources: by any key, a file on disk that holds UTF-8, or a text. Texts are written to a temporary folder
            first, which on many systems takes longer than checking them. A file that cannot be read has no error.

    Raises:
        SyntaxCheckerError: ruff is missing or fails.
    """
    with ExitStack() as held:
        keys = {file: key for key, file in _files(sources, held)}
        started = _start([*keys], held) if keys else None  # ruff would take the current folder

        @cache
        def problems() -> dict[str, Problem]:
            first: dict[str, Problem] = {}
            errors = _errors([*keys], started, held) if started else []
            for file, problem in sorted(errors, key=lambda error: error[1][1:3]):
                if file in keys:
                    first.setdefault(keys[file], problem)
            return first

        yield problems


def _files(sources: Mapping[str, Path | str], held: ExitStack) -> Iterator[tuple[str, str]]:
    """Each key, and the absolute path of a file that holds its source."""
    folder = None
    for number, (key, source) in enumerate(sources.items()):
        if isinstance(source, Path) and str(source).isprintable():
            yield key, os.path.abspath(source)
            continue
        try:
            data = source.read_bytes() if isinstance(source, Path) else source.encode("utf-8", "surrogatepass")
        except OSError:
            continue
        if folder is None:
            from tempfile import TemporaryDirectory

            folder = held.enter_context(TemporaryDirectory(prefix="voltgate-"))
        file = os.path.join(folder, f"{number}.py")
        Path(file).write_bytes(data)
        yield key, file


def _start(files: Sequence[str], held: ExitStack) -> subprocess.Popen[bytes]:
    """ruff at work on some files, with every way of silencing it turned off; it is ended with what is held.

    It reads the files' names, one a line, from its input: a command line has no room for thousands.
    """
    from ruff import find_ruff_bin  # type: ignore[import-untyped]

    options = ("--isolated", "--no-cache", "--no-respect-gitignore", "--ignore-noqa", "--exit-zero", "--quiet")
    selection = ("--select", "E902", "--target-version", _NEWEST, "--output-format", "json")
    try:
        command = (find_ruff_bin(), "check", *options, *selection, "@/dev/stdin")
        ruff = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise _unusable(error) from None
    held.enter_context(ruff)
    held.callback(ruff.kill)
    assert ruff.stdin is not None
    with suppress(BrokenPipeError), ruff.stdin:  # how it ended is told by its exit status
        ruff.stdin.write(os.fsencode("\n".join(files)))
    ruff.stdin = None  # or `communicate` would flush what is closed
    return ruff


def _errors(files: Sequence[str], ruff: subprocess.Popen[bytes], held: ExitStack) -> list[tuple[str, Problem]]:
    """What ruff says of some files; where one of them brings it down, by halves until that one is alone."""
    try:
        output, complaint = ruff.communicate(timeout=600)
        if not ruff.returncode:
            return [_read(error) for error in json.loads(output) if error["name"] == "invalid-syntax"]
    except (subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
        raise _unusable(error) from None
    if -ruff.returncode not in _CRASHES:
        raise _unusable(complaint.decode("utf-8", "replace").strip() or f"exit status {ruff.returncode}")
    if len(files) == 1:
        return [(files[0], Problem("SRC002", 0, 0, "is nested too deeply for the syntax checker, and for Python"))]
    middle = len(files) // 2
    halves = (files[:middle], files[middle:])
    return [error for half in halves for error in _errors(half, _start(half, held), held)]


def _unusable(error: Exception | str) -> SyntaxCheckerError:
    return SyntaxCheckerError(
        f"the syntax checker cannot be run: {error}. Install ruff again: `pip install --force-reinstall ruff`."
    )


def _read(error: Mapping[str, Any]) -> tuple[str, Problem]:
    """The file and the problem in one entry of ruff's JSON."""
    place = error["location"]
    return error["filename"], Problem("SRC002", place["row"], place["column"], error["message"])
