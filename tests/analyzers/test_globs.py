"""Path patterns, against a matcher that goes segment by segment."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.globs import matcher, unclosed_set


def covers(pattern: list[str], path: list[str]) -> bool:
    """The rules of `matcher`, told once more as a recursion over segments."""
    if not pattern:
        return True
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)
        return any(covers(pattern[1:], path[start:]) for start in range(len(path)))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and covers(pattern[1:], path[1:])


names = st.text("ab.-!^[]\\\n", min_size=1, max_size=4).filter(lambda name: name != ".")
segments = st.just("**") | st.text("ab.*?[]!-^\\&|~\n", min_size=1, max_size=6).filter(lambda name: name != ".")


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.lists(segments, min_size=1, max_size=4), st.lists(names, min_size=1, max_size=5))
def test_a_pattern_covers_what_its_segments_cover(pattern: list[str], path: list[str]) -> None:
    assert matcher(["/".join(pattern)])("/".join(path)) == covers(pattern, path)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    st.lists(st.lists(segments, min_size=1, max_size=3).map("/".join), max_size=3),
    st.lists(names, min_size=1, max_size=4).map("/".join),
)
def test_several_patterns_cover_what_any_of_them_covers(patterns: list[str], path: str) -> None:
    assert matcher(patterns)(path) == any(matcher([pattern])(path) for pattern in patterns)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/*.py", "setup.py", True),
        ("**/*.py", "a/.hidden/b.py", True),
        ("*.py", "a/b.py", False),
        ("docs", "docs/guide/index.md", True),
        ("docs/", "docs/index.md", True),
        ("./docs", "docs/index.md", True),
        ("docs", "docsite/index.md", False),
        ("docs/**/index.md", "docs/index.md", True),
        ("docs/**", "docs", False),
        ("a**b", "a/b", False),
        ("a?b", "a/b", False),
        ("a[!x]b", "a/b", False),
        ("a[+-9]b", "a/b", False),
        ("a[+-9]b", "a.b", True),
        ("[z-a]", "z", False),
        ("[!z-a]", "z", True),
        ("[z-ab]", "b", True),
        ("README.MD", "readme.md", False),
        (".", "anything/at/all", True),
        ("", "anything", False),
        ("/", "anything", False),
    ],
)
def test_what_the_rules_say_of_the_corners(pattern: str, path: str, expected: bool) -> None:
    assert matcher([pattern])(path) is expected


def test_no_patterns_cover_nothing() -> None:
    assert not matcher([])("a")


@pytest.mark.parametrize("pattern", ["[ab", "a/[", "[]", "[!]", "[a/b]", "a]/[b"])
def test_a_set_that_is_not_closed_is_seen(pattern: str) -> None:
    assert unclosed_set(pattern)


@pytest.mark.parametrize("pattern", ["[ab]", "[]]", "[!]]", "[[]", "a]", "*/[!a]?", ""])
def test_a_set_that_is_closed_passes(pattern: str) -> None:
    assert not unclosed_set(pattern)
