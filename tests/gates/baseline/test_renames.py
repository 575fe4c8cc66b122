"""Findings of an older tree under the names that its files and modules have now."""

from __future__ import annotations

import pytest

from analyzers.finding import Finding
from analyzers.layering.modules import Modules
from gates.baseline.renames import renamed_modules, under_new_names


def finding(path: str, subject: str) -> Finding:
    return Finding("LAY001", path, 3, 1, "", subject, "message")


def test_modules_follow_their_files() -> None:
    old = Modules(["a/__init__.py", "a/b.py", "a/c.py"])
    new = Modules(["a/__init__.py", "a/d/__init__.py", "a/d/b.py", "a/c.py"])
    assert renamed_modules({"a/b.py": "a/d/b.py", "x.md": "y.md"}, old, new) == {"a.b": "a.d.b"}


def test_the_path_is_the_new_one() -> None:
    (renamed,) = under_new_names([finding("a/b.py", "x")], {"a/b.py": "a/d.py"}, {})
    assert (renamed.path, renamed.subject) == ("a/d.py", "x")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("house: a.b", "house: a.d"),
        ("house: a.b -> torch", "house: a.d -> torch"),
        ("a.b.Config", "a.d.Config"),
        ("a.b.c", "new.c"),
        ("a.bb", "a.bb"),
        ("x.a.b", "x.a.b"),
        ("a", "a"),
        ("lines", "lines"),
        ("../a/b.md", "../a/b.md"),
    ],
)
def test_whole_names_of_renamed_modules_are_replaced_in_subjects(subject: str, expected: str) -> None:
    (renamed,) = under_new_names([finding("x.py", subject)], {}, {"a.b": "a.d", "a.b.c": "new.c"})
    assert renamed.subject == expected
