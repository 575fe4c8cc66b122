"""Whether Python files parse, asked of ruff: its parser knows newer syntax than the Python that runs this."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analyzers.errors import UserError
from analyzers.source import Problem

_NEWEST = "py314"
"""Syntax that an older Python would refuse is no error here: which Python a tree is for is not ours to judge."""


class SyntaxCheckerError(UserError):
    """ruff cannot be run, or its answer cannot be understood."""


def check_syntax(texts: Mapping[str, str]) -> dict[str, Problem]:
    """The first syntax error of each text that has one.

    Raises:
        SyntaxCheckerError: ruff is missing or fails.
    """
    with TemporaryDirectory(prefix="voltgate-") as folder:
        names = {}
        for number, (key, text) in enumerate(texts.items()):
            name = f"{number}.py"
            Path(folder, name).write_bytes(text.encode("utf-8", "surrogatepass"))
            names[name] = key
        first: dict[str, Problem] = {}
        for name, problem in sorted(_errors(folder), key=lambda error: error[1][1:3]):
            first.setdefault(names[name], problem)
    return first


def _errors(folder: str) -> list[tuple[str, Problem]]:
    """What ruff says of the files in a folder, with every way of silencing it turned off."""
    from ruff import find_ruff_bin

    options = ("--isolated", "--no-cache", "--no-respect-gitignore", "--ignore-noqa", "--exit-zero", "--quiet")
    selection = ("--select", "E902", "--target-version", _NEWEST, "--output-format", "json")
    try:
        done = subprocess.run(
            (find_ruff_bin(), "check", *options, *selection, folder), capture_output=True, check=True, timeout=600
        )
        return [_read(error) for error in json.loads(done.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
        raise SyntaxCheckerError(
            f"the syntax checker cannot be run: {error}. Install ruff again: `pip install --force-reinstall ruff`."
        ) from None


def _read(error: Mapping[str, Any]) -> tuple[str, Problem]:
    """The name of the file and the problem in one entry of ruff's JSON."""
    place = error["location"]
    return Path(error["filename"]).name, Problem("SRC002", place["row"], place["column"], error["message"])
