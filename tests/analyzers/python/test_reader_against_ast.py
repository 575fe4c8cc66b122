"""The reader agrees with `ast` and `tokenize` on everything that they can read."""

from __future__ import annotations

import sysconfig
import warnings
from pathlib import Path

import pytest
from ast_oracle import actual, expected
from hypothesis import given, settings
from python_sources import NASTY, modules


@pytest.mark.parametrize("text", NASTY)
def test_nasty_file(text: str) -> None:
    assert actual(text) == expected(text)


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(modules())
def test_generated_file(text: str) -> None:
    assert actual(text) == expected(text)


def library_files() -> list[Path]:
    """Some of the standard library's files: the same ones for the same Python."""
    folder = Path(sysconfig.get_path("stdlib"))
    files = [path for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts]
    return files[:: len(files) // 70]


def test_standard_library() -> None:
    read = 0
    for path in library_files():
        try:
            text = path.read_text("utf-8-sig")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = expected(text)
        except (SyntaxError, UnicodeDecodeError):
            continue
        assert actual(text) == answer, path
        read += 1
    assert read > 50
