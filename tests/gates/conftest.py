"""A small project, and the real command run on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sample_project import FILES, Gates, commit, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clean project in a git repository with one commit."""
    write(tmp_path, FILES)
    commit(tmp_path, "first", init=True)
    return tmp_path


@pytest.fixture
def gates(project: Path) -> Gates:
    """Runs `python -m gates` in the project, as a user would."""

    def run(*arguments: str, cwd: Path = project, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (sys.executable, "-m", "gates", *arguments),
            cwd=cwd,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run
