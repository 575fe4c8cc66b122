"""Syntax trees of files that are newer than this Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from analyzers.python.lexer import lex
from analyzers.python.parsing import Places, parse_expression, parse_module, surely_parses
from analyzers.python.syntax import check_syntax


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


@pytest.mark.parametrize(
    "text",
    [
        f"x = {'(' * 201}{')' * 201}\n",
        f"x = {'a[' * 201}1{']' * 201}\n",
        f"x = {'-' * 3_000}1\n",
        f"x = {'not ' * 3_000}1\n",
        f"x = 1{' + 1' * 3_000}\n",
        f"x = (1 +\n{'  1 +' * 3_000} 1)\n",
        f"x = a{'.b' * 3_000}\n",
        "if a:\n    pass\n" + "elif a:\n    pass\n" * 3_000,
        "".join(f"{' ' * depth}if a:\n" for depth in range(101)) + f"{' ' * 101}pass\n",
        f"x = {'1' * 5_000}\n",
        "x = 1  # \0\n",
        "\U00031350 = 1\n",
    ],
    ids=lambda text: f"{text[:12]!r}...",
)
def test_what_python_refuses_and_the_checker_takes_does_not_surely_parse(text: str) -> None:
    assert parse_module(text) is not None or not surely_parses(lex(text))


def test_what_surely_parses_parses() -> None:
    """For every source of this repository, and all but a few of them do."""
    texts = {path: path.read_text() for path in (Path(__file__).parents[3] / "analyzers").rglob("*.py")}
    assert check_syntax({str(path): text for path, text in texts.items()}) == {}
    sure = [path for path, text in texts.items() if surely_parses(lex(text))]
    assert len(sure) > 0.9 * len(texts)
    assert all(parse_module(texts[path]) is not None for path in sure)
