"""Baselines on disk. A file is replaced in one step, so that nobody ever sees half of one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from secrets import token_hex

from gates.baseline.entries import Baseline
from gates.baseline.format import BaselineError, parse, render


def load(path: Path, gate: str) -> Baseline:
    """Read the baseline of `gate`; a missing file is an empty one.

    Raises:
        BaselineError: the file cannot be read, or is no baseline of this gate.
    """
    content = read(path)
    return Baseline(gate) if content is None else parse(content, str(path), gate)


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
    """Write the baseline; return whether the file changed.

    Readers, and whoever finds the file after a crash, see the old content or the new one. Permissions stay as they
    are; a symbolic link stays and the file that it leads to is replaced. Two writers at once: the later one wins.

    Raises:
        BaselineError: the file cannot be written; it is as it was.
    """
    content = render(baseline)
    if read(path) == content:
        return False
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content)
    except OSError as error:
        remedy = "Check the permissions of its folder and the space on its disk"
        raise BaselineError(str(path), f"cannot be written: {error.strerror}", remedy) from None
    return True


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
