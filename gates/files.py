"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from secrets import token_hex

from analyzers.errors import UserError


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step: readers and crashes see the old one or the new one, nothing between.

    A symbolic link stays and its target is replaced; permissions stay as they are; missing folders are made.

    Raises:
        UserError: the file cannot be written; it is then as it was.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written: {error.strerror}. Check the folder's permissions and the space on its disk."
        ) from None


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
