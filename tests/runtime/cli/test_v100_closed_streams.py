"""A shell may close standard input, output and error: `v100` then reads nothing, and what it says is lost."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("arguments", "expected"), [(("explain",), 0), (("generate",), 2), (("generate", "--file", "-"), 2)]
)
def test_a_closed_stream_changes_no_exit_status(redirection: str, arguments: tuple[str, ...], expected: int) -> None:
    command = ("sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "runtime", *arguments)

    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    assert done.returncode == expected
    assert "Traceback" not in done.stderr
