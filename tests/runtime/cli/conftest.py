"""The `v100` command on the tiny model: within the test's process, and in a real one on a real terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from pseudo_terminal import Terminal
from v100_types import V100, Python

from runtime.cli import cli

ROOT = Path(__file__).parents[3]

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def environment(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of whoever runs the tests, and the tiny model for all who name none."""
    for name in [name for name in os.environ if name.startswith("V100_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("V100_MODEL", str(tiny_model))
    monkeypatch.setenv("V100_MAX_NUM_SEQS", "8")
    monkeypatch.setenv("V100_THREADS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def v100() -> V100:
    """Run the command in this process: `v100("generate", "hello", stdin=b"...")`."""

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        return CliRunner().invoke(cli, arguments, input=stdin, prog_name="v100")

    return run


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Start `v100` in a process of its own on a terminal: `terminal("chat", stdout=subprocess.PIPE)`."""
    started: list[Terminal] = []

    def start(*arguments: str, stdout: int | None = None) -> Terminal:
        started.append(Terminal([sys.executable, "-m", "runtime", *arguments], ROOT, stdout))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def python() -> Python:
    """Run a program in a fresh interpreter: `python(code, *arguments)`."""

    def run(code: str, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)

    return run
