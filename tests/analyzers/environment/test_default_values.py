from __future__ import annotations

import ast

import pytest

from analyzers.environment.defaults import Defaults, UnknownDefaultError, agree


def value(expression: str) -> object:
    return Defaults({}).given_by(ast.parse(f"lambda: {expression}", mode="eval").body)


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


MODULE = ast.parse("""
def with_choices(name, default, choices, strict=True):
    def get():
        value = os.getenv(name)
        if value is None:
            return default
        return value.lower() if strict else value
    return get

def flag(name, default="false"):
    return lambda: is_on(name, default)

def is_on(name, default):
    text = os.getenv(name, default)
    return text.lower() in ("1", "true")

def port():
    "The port."
    if "PORT" not in os.environ:
        return None
    return int(os.environ["PORT"])

def forever():
    return forever()

def many(*names):
    return lambda: names

@cache
def wrapped():
    return 1

def logs():
    print("x")
    return 1
""")
DEFAULTS = Defaults({node.name: node for node in MODULE.body if isinstance(node, ast.FunctionDef)})


@pytest.mark.parametrize(
    ("getter", "default"),
    [
        ("with_choices('A', 'x', ['x', 'y'])", "x"),
        ("with_choices('A', choices=[], default=None)", None),
        ("flag('A')", False),
        ("flag('A', 'true')", True),
        ("flag(name='A', default='1')", True),
        ("port", None),
        ("lambda: is_on('A', '1')", True),
        ("lambda: 8 if port() is None else port()", 8),
    ],
)
def test_functions_of_the_module_are_followed(getter: str, default: object) -> None:
    assert DEFAULTS.given_by(ast.parse(getter, mode="eval").body) == default


@pytest.mark.parametrize(
    "getter",
    [
        *("forever", "many('A')", "lambda: wrapped()", "logs", "flag()", "flag('A', 'b', 'c')", "flag('A', other=1)"),
        *("flag", "elsewhere('A')", "lambda: port", "8", "lambda x: x"),
    ],
)
def test_functions_that_are_not_understood_in_full(getter: str) -> None:
    with pytest.raises(UnknownDefaultError):
        DEFAULTS.given_by(ast.parse(getter, mode="eval").body)


def test_defaults_agree_across_spellings() -> None:
    assert agree(False, "0")
    assert agree(5, "5")
    assert agree(None, "")
    assert agree(True, "True")
    assert agree(1.0, 1)
    assert not agree(5, "6")
    assert not agree(True, None)
