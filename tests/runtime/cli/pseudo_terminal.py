"""A program on a pseudo-terminal, which takes keys and is waited for by what it shows."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

_PATIENCE_SECONDS = 120.0
CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """A running program.

    Args:
        command: the program.
        folder: where it runs.
        stdout: None for the terminal, `subprocess.PIPE` for a pipe; standard input and error are the terminal.
    """

    def __init__(self, command: Sequence[str], folder: Path, stdout: int | None) -> None:
        self._keyboard, screen = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=screen,
            stdout=screen if stdout is None else stdout,
            stderr=screen,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C becomes a signal
        )
        os.close(screen)
        self._shown = ""

    def press(self, keys: str) -> None:
        os.write(self._keyboard, keys.encode())

    def until(self, text: str, pressing: str = "") -> str:
        """Wait for `text`, pressing keys again and again; return what was shown since the last wait, with it."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while text not in self._shown:
            self.press(pressing)
            more = self._read(1.0 if pressing else _PATIENCE_SECONDS)
            if not more and (not pressing or time.monotonic() >= deadline):
                raise AssertionError(f"{text!r} was never shown, but: {self._shown!r}")
        end = self._shown.index(text) + len(text)
        seen, self._shown = self._shown[:end], self._shown[end:]
        return seen

    def rest(self) -> str:
        """What is shown until the program ends."""
        while self._read(_PATIENCE_SECONDS):
            pass
        return self._shown

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        os.close(self._keyboard)

    def _read(self, seconds: float) -> bool:
        """Take in more of what is shown; False if nothing more came."""
        readable, _, _ = select.select([self._keyboard], [], [], seconds)
        if not readable:
            return False
        try:
            more = os.read(self._keyboard, 4096)
        except OSError:  # Linux says so when the program has closed its end
            return False
        self._shown += more.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(more)
