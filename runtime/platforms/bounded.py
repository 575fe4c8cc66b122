"""Other programs, run so that neither their crash nor their hang reaches this process."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

_REAP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended.

    Attributes:
        output: its standard output, also what came before a crash.
        failure: empty where it succeeded, else how it ended and the last line that it wrote to standard error.
    """

    output: str
    failure: str


def run_bounded(command: Sequence[str], timeout_seconds: float) -> Outcome:
    """Run a program without a terminal, for at most so long.

    Its output goes to files instead of pipes: a grandchild that keeps a pipe open would make us wait for it.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        except OSError as error:
            return Outcome("", f"cannot be started: {error.strerror}")
        try:
            ending = _ending(process.wait(timeout_seconds))
        except subprocess.TimeoutExpired:
            ending = f"gave no answer in {timeout_seconds:g} s"
            process.kill()
            # A process that waits for a dead driver cannot be killed; it is left behind.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_REAP_SECONDS)
        output.seek(0)
        errors.seek(0)
        lines = errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        failure = f"{ending}: {last}" if ending and last else ending
        return Outcome(output.read().decode(errors="replace"), failure)


def _ending(status: int) -> str:
    if status < 0:
        return f"was killed by signal {-status}"
    return f"ended with status {status}" if status else ""
