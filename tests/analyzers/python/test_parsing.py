"""Syntax trees of files that are newer than this Python."""

from __future__ import annotations

import ast

import pytest

from analyzers.python.parsing import Places, parse_expression, parse_module


@pytest.mark.parametrize(
    ("text", "older"),
    [
        ("class A[T: int = str](B[T]):\n    x: int\n", "class A(B[T]):\n    x: int\n"),
        ("def f[\n  T\n](a: T): pass\n", "def f(a: T): pass\n"),
        ("type X[K] = list[K]\ntype = 1\n", "X = list[K]\ntype = 1\n"),
        ('y = f"{a["b"]}"\n', "y = ''\n"),
        ('y = [t"{a}\n", 1]\n', None),
        ('y = t"{a}" + b\n', "y = '' + b\n"),
        ("try: pass\nexcept A, B: pass\n", "try: pass\nexcept A: pass\n"),
        ("try: pass\nexcept* A, B: pass\n", "try: pass\nexcept* A: pass\n"),
    ],
)
def test_newer_syntax_is_read_in_older_words(text: str, older: str | None) -> None:
    found = parse_module(text)
    if older is None:
        assert found is None
        return
    assert found is not None
    allowed = {ast.unparse(ast.parse(older))}
    if (native := _native(text)) is not None:
        allowed.add(ast.unparse(native))
    assert ast.unparse(found) in allowed


def _native(text: str) -> ast.Module | None:
    """What a Python that knows the syntax makes of it."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def test_places_do_not_move() -> None:
    text = "class A[T]:\n    x: int = f'{'é'}'; y = 1\n"
    module = parse_module(text)
    assert module is not None
    last = [node for node in ast.walk(module) if isinstance(node, ast.Assign)][-1]
    assert Places(text).of(last) == (2, text.split("\n")[1].index("y =") + 1)


def test_what_does_not_parse_has_no_tree() -> None:
    assert parse_module("def f(:\n") is None
    assert parse_module("x = " + "(" * 250 + ")" * 250) is None
    assert parse_expression("a b") is None
