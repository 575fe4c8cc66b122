"""Files made to cost more than they are long. Where the reader is not linear, these tests do not come to an end."""

from __future__ import annotations

import pytest

from analyzers.python.lexer import lex
from analyzers.python.structure import read_python
from analyzers.source import Source

N = 10_000
MANY = 1_000_000

HOSTILE = {
    "one long string": "'" + "\\a" * MANY + "'",
    "one long line": "import a;" + "x = 1;" * (MANY // 4),
    "one long comment": "#" * MANY,
    "open brackets": "(" * MANY,
    "quotes": "'a" * N,
    "open f-strings": 'f"{x\n' * N,
    "nested f-strings": "f\"{f'{" * N,
    "nested specifiers": 'f"' + "{x:" * N,
    "open triple f-strings": 'f"""{' * N,
    "continuations": " \\\n" * N,
    "form feeds": "\n \f" * N,
    "blanks before a word": "from a" + " " * MANY + "import b",
    "imports on one line": "from a import b;" * N,
    "import words": "import " * N,
    "calls left open": "import_module(" * N,
    "calls in calls": "import_module('a', " * N,
    "a chain of private names": "a" + "[0]._x(b)" * N,
    "private names in f-strings": 'f"{a._x}" ' * N,
    "targets without assignment": "x._a\n" + "_a, " * N,
    "definitions in one line": "class A: " * N,
    "deep definitions": "".join(" " * depth + "def f():\n" for depth in range(300)),
    "many guards": "try:\n import a\nexcept E: pass\n" * N,
    "a long elif chain": "if not TYPE_CHECKING:\n pass\n" + "elif x:\n import a\n" * N,
    "a long test": "if " + "(" * N + "TYPE_CHECKING" + ")" * N + ":\n import a\n",
    "a table too deep to parse": "def __getattr__(name): ...\nX = " + "[" * N,
    "a sum too long to recurse into": "def __getattr__(name): ...\nX = " + "a + " * N + "b\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_is_linear(text: str) -> None:
    facts = read_python(Source("module.py", text))
    assert facts.lines == len(text.removesuffix("\n").split("\n"))
    assert len(lex(text).masked("code")) == len(text)
