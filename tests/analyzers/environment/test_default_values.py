from __future__ import annotations

import ast

import pytest

from analyzers.environment.defaults import UnknownDefaultError, agree, default_of


def value(expression: str) -> object:
    return default_of(ast.parse(expression, mode="eval").body)


@pytest.mark.parametrize(
    ("expression", "default"),
    [
        ('os.getenv("A")', None),
        ('os.environ.get("A", "1")', "1"),
        ('int(os.getenv("A", "5"))', 5),
        ('bool(int(os.getenv("A", "0")))', False),
        ('os.getenv("A", "False").lower() in ("true", "1")', False),
        ('os.environ.get("A", "1") == "1"', True),
        ('os.getenv("A", os.getenv("B", "x"))', "x"),
        ('os.getenv("A") or "x"', "x"),
        ('float(os.getenv("A")) if os.getenv("A") else None', None),
        ('"A" in os.environ', False),
        ('not os.getenv("A")', True),
    ],
)
def test_what_a_getter_gives_in_an_empty_environment(expression: str, default: object) -> None:
    assert value(expression) == default


@pytest.mark.parametrize(
    "expression",
    ['os.environ["A"]', 'int(os.getenv("A"))', 'convert(os.getenv("A", "1"))', 'os.getenv("A", default="1")', "f'{x}'"],
)
def test_what_cannot_be_told(expression: str) -> None:
    with pytest.raises(UnknownDefaultError):
        value(expression)


def test_defaults_agree_across_spellings() -> None:
    assert agree(False, "0")
    assert agree(5, "5")
    assert agree(None, "")
    assert agree(True, "True")
    assert agree(1.0, 1)
    assert not agree(5, "6")
    assert not agree(True, None)
