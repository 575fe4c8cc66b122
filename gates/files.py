"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from analyzers.errors import UserError


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step: readers, and whoever finds it after a crash, see the old content or the new one.

    Permissions stay as they are; a symbolic link stays and the file that it leads to is replaced; missing folders are
    made. Two writers at once: the later one wins.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    from secrets import token_hex

    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
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


def write_text(root: Path, path: str, text: str) -> None:
    """Replace a text file of a tree in one step, as `write_atomically` does.

    Raises:
        UserError: the file cannot be written; it is as it was.
    """
    try:
        write_atomically(root / path, text.encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
