"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from analyzers.errors import UserError
from analyzers.generated import generated_mark


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


def write_text(root: Path, path: str, text: str, encoding: str = "utf-8") -> None:
    """Replace a text file of a tree in one step, as `write_atomically` does.

    Raises:
        UserError: the file cannot be written, or symbolic links lead from it out of the tree; it is as it was.
    """
    refuse_outside(root, root / path)
    try:
        write_atomically(root / path, text.encode(encoding))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def write_generated(root: Path, path: str, text: str, command: str) -> None:
    """Write a generated page over what `command` wrote before, or where there is nothing.

    Raises:
        UserError: somebody else wrote what is there, or the page cannot be written; it is as it was.
    """
    try:
        present = (root / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        present = b""
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if present.strip() and generated_mark(command).encode() not in present:
        remedy = "name another page in the settings, or delete the file if it may go"
        raise UserError(f"{path}: `{command}` did not write this page, and would overwrite it: {remedy}")
    write_text(root, path, text)


def refuse_outside(root: Path, path: Path) -> None:
    """Check that a file to write is one of a tree.

    Raises:
        UserError: its path, or a symbolic link on it, leads out.
    """
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(root)):
        raise UserError(f"{path}: not written, for it leads out of {root} to {target}: put the file itself there")
