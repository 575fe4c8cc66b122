"""A shell may close standard input, output and error: that is no reason to fail, or to end otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sample_project import FILES, break_layers, write

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]


def status(project: Path, redirection: str, *arguments: str) -> int:
    script = f'exec "$@" {redirection}'
    command = ("sh", "-c", script, "sh", sys.executable, "-m", "gates", *arguments)
    return subprocess.run(command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode


@pytest.mark.parametrize("redirection", CLOSED)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("check",), 1),
        (("evidence", "--base", "HEAD", "--body", "-"), 1),
        (("evidence", "--base", "HEAD", "--draft"), 0),
        (("baseline", "refresh", "--dry-run"), 1),
        (("layering", "--report"), 0),
        (("list",), 0),
        (("no-such-command",), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_closed_stream_changes_no_exit_status(
    project: Path, redirection: str, arguments: tuple[str, ...], expected: int
) -> None:
    break_layers(project)

    assert status(project, redirection, *arguments) == expected


def test_no_file_takes_the_place_of_a_closed_stream(project: Path) -> None:
    write(project, {"README.md": "[gone](gone.md)\n"})

    status(project, "<&- >&- 2>&-", "check", "--output", "json=report.json")

    assert (project / "report.json").read_text().startswith("{")
    assert (project / "gates.toml").read_text() == FILES["gates.toml"]
