from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Runs git in a new repository."""

    def run(*arguments: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
        done = subprocess.run(("git", *identity, *arguments), cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run("init", "-q")
    return run
