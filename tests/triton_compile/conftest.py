"""Tests that compile every kernel for the chip: a process of their own, for they are slow and need no other test.

    pytest tests/triton_compile

A run of the whole suite passes them by, and so does one in which Triton's interpreter replaces the compiler.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent
_INTERPRETS = os.environ.get("TRITON_INTERPRET") == "1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = (Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args)
    is_asked_for = any(path.is_relative_to(_FOLDER) for path in named)
    return None if is_asked_for and not _INTERPRETS else True
