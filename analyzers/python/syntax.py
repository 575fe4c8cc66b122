"""Whether Python files parse, asked of ruff: its parser knows newer syntax than the Python that runs this."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
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
    """The first syntax error of each source that has one.

    Args:
        sources: by any key, a file on disk that holds UTF-8, or a text. Texts are written to a temporary folder
            first, which on many systems takes longer than checking them. A file that cannot be read has no error.

    Raises:
        SyntaxCheckerError: ruff is missing or fails.
    """
    if not sources:  # ruff would take the current folder
        return {}
    with TemporaryDirectory(prefix="voltgate-") as folder:
        keys = {file: key for key, file in _files(sources, folder)}
        first: dict[str, Problem] = {}
        for file, problem in sorted(_errors([*keys], folder), key=lambda error: error[1][1:3]):
            if file in keys:
                first.setdefault(keys[file], problem)
    return first


def _files(sources: Mapping[str, Path | str], folder: str) -> Iterator[tuple[str, str]]:
    """Each key, and the absolute path of a file that holds its source."""
    for number, (key, source) in enumerate(sources.items()):
        if isinstance(source, Path) and str(source).isprintable():
            yield key, os.path.abspath(source)
            continue
        file = os.path.join(folder, f"{number}.py")
        try:
            data = source.read_bytes() if isinstance(source, Path) else source.encode("utf-8", "surrogatepass")
        except OSError:
            continue
        Path(file).write_bytes(data)
        yield key, file


def _errors(files: Sequence[str], folder: str) -> list[tuple[str, Problem]]:
    """What ruff says of some files; where one of them brings it down, by halves until that one is alone."""
    try:
        return _answer(files, folder)
    except subprocess.CalledProcessError as error:
        if -error.returncode not in _CRASHES:
            raise _unusable(error) from None
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
        raise _unusable(error) from None
    if len(files) == 1:
        return [(files[0], Problem("SRC002", 0, 0, "is nested too deeply for the syntax checker, and for Python"))]
    middle = len(files) // 2
    return [*_errors(files[:middle], folder), *_errors(files[middle:], folder)]


def _answer(files: Sequence[str], folder: str) -> list[tuple[str, Problem]]:
    """What one run of ruff says, with every way of silencing it turned off.

    It reads the files' names, one a line, from a file in the folder: a command line has no room for thousands.
    """
    from ruff import find_ruff_bin  # type: ignore[import-untyped]

    names = Path(folder, "names")
    names.write_bytes(os.fsencode("\n".join(files)))
    options = ("--isolated", "--no-cache", "--no-respect-gitignore", "--ignore-noqa", "--exit-zero", "--quiet")
    selection = ("--select", "E902", "--target-version", _NEWEST, "--output-format", "json")
    command = (find_ruff_bin(), "check", *options, *selection, f"@{names}")
    done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    return [_read(error) for error in json.loads(done.stdout) if error["name"] == "invalid-syntax"]


def _unusable(error: Exception) -> SyntaxCheckerError:
    return SyntaxCheckerError(
        f"the syntax checker cannot be run: {error}. Install ruff again: `pip install --force-reinstall ruff`."
    )


def _read(error: Mapping[str, Any]) -> tuple[str, Problem]:
    """The file and the problem in one entry of ruff's JSON."""
    place = error["location"]
    return error["filename"], Problem("SRC002", place["row"], place["column"], error["message"])
