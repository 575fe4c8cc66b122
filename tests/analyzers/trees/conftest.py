from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs git in a repository of its own, out of reach of the user's configuration."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for variable in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(variable, raising=False)

    def run(*arguments: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
        done = subprocess.run(
            ("git", *identity, *arguments), cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    run("init", "-q")
    return run
