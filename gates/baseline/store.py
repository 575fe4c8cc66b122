"""Baselines on disk. A file is replaced in one step, so that nobody ever sees half of one."""

from __future__ import annotations

import stat
from pathlib import Path

from gates.baseline.entries import Baseline
from gates.baseline.format import BaselineError, parse, render
from gates.files import write_atomically


def load(path: Path, gate: str, expected: Baseline | None = None) -> Baseline:
    """Read the baseline of `gate`; a missing file is an empty one.

    Args:
        path: the file.
        gate: whose baseline it must be.
        expected: what the file probably holds, as `parse` has it.

    Raises:
        BaselineError: the file cannot be read, or is no baseline of this gate.
    """
    content = read(path)
    if content is None:
        return Baseline(gate)
    return parse(content, str(path), gate, expected)


def read(path: Path) -> bytes | None:
    """The bytes of a regular file, through symbolic links; None where there is none.

    Raises:
        BaselineError: there is something else, or it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise BaselineError(str(path), "not a regular file", "Move it out of the way")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise BaselineError(str(path), problem, "Check what its path leads to, and its permissions") from None


def save(path: Path, baseline: Baseline) -> bool:
    """Write the baseline in one step; return whether the file changed.

    Raises:
        BaselineError: the file cannot be written; it is as it was.
    """
    content = render(baseline)
    if read(path) == content:
        return False
    try:
        write_atomically(path, content)
    except OSError as error:
        remedy = "Check the permissions of its folder and the space on its disk"
        raise BaselineError(str(path), f"cannot be written: {error.strerror}", remedy) from None
    return True
