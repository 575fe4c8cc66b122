"""When `astroid` is asked: only of what it may know, since it takes long to load."""

from __future__ import annotations

import ast

import pytest

from analyzers.environment.keys import KeyReader
from analyzers.environment.python_uses import read_module

NOBODY_KNOWS = {
    "attribute of a parameter": "def f(config):\n    os.getenv(config.key)",
    "attribute of an import": "from app import settings\nos.getenv(settings.KEY)",
    "result of a builtin": "for field in sorted(found):\n    os.getenv(field.name)",
    "text of something": "class A:\n    key = 'A'\nos.getenv(str(A.key.x))",
    "part of a text": "def f(config):\n    os.getenv(f'{PREFIX}_{config.key}')\nclass A: pass\nPREFIX = A().x",
    "parameter in an attribute": (
        "class A:\n    def __init__(self, key):\n        self.key = key\n"
        "    def f(self):\n        os.getenv(self.key.name)"
    ),
    "parameter in an inherited attribute": (
        "class A:\n    def __set_name__(self, owner, name):\n        self.name = name\n"
        "class B(A):\n    def f(self):\n        os.getenv(self.name)"
    ),
    "method that takes from its caller": (
        "class A:\n    def named(self, x):\n        return x.upper()\n"
        "    def f(self, y):\n        os.getenv(self.named(y))"
    ),
    "made of itself": "a = b.x\nb = a.x\nos.getenv(a.x)",
}
THE_FILE_MAY_TELL = {
    "instance": "class A:\n    key = 'A'\nos.getenv(A().key)",
    "method with a text": "class A:\n    def n(self, s):\n        return 'X_' + s\nos.getenv(A().n('A'))",
    "property": "class A:\n    @property\n    def n(self):\n        return self.x[0]\n    x = ['A']\nos.getenv(A().n)",
    "set from outside": "class A:\n    pass\nA.key = 'A'\nos.getenv(A.key)",
    "set on a function": "def f(): pass\nf.key = 'A'\nos.getenv(f.key)",
    "default": "class A:\n    key = 'A'\ndef f(a=A()):\n    os.getenv(a.key)",
}


def asked(source: str) -> bool:
    keys = KeyReader()
    text = f"import os\n{source}\n"
    read_module(ast.parse(text), range(1, text.count("\n") + 1), (), keys)
    return keys.has_asked


@pytest.mark.parametrize("source", NOBODY_KNOWS.values(), ids=NOBODY_KNOWS)
def test_nothing_is_asked_that_no_file_tells(source: str) -> None:
    assert not asked(source)


@pytest.mark.parametrize("source", THE_FILE_MAY_TELL.values(), ids=THE_FILE_MAY_TELL)
def test_what_the_file_may_tell_is_asked(source: str) -> None:
    assert asked(source)
