"""Which names' objects a module changes, held against what Python does when the module runs."""

from __future__ import annotations

import ast
import copy
from textwrap import indent
from typing import Any

import pytest

from analyzers.python.bindings import Binding
from analyzers.python.changes import changes

MODULE = """
from types import SimpleNamespace
T = SimpleNamespace(rows=[3, 1], by={"a": [1], "b": {}}, known={1, 2})
ROWS, BY, KNOWN = T.rows, T.by, T.known
"""
CHANGING = [
    "ROWS.append(1)",
    "ROWS.extend([1])",
    "ROWS.insert(0, 1)",
    "ROWS.sort()",
    "last = ROWS.pop()",
    "ROWS[0] = 7",
    "ROWS[1:] = []",
    "ROWS[0] += 1",
    "del ROWS[0]",
    "BY['c'] = 1",
    "BY['a'][0] = 2",
    "BY['b']['x'] = 2",
    "BY['a'].append(2)",
    "BY.update(c=1)",
    "BY.setdefault('c', []).append(1)",
    "print(BY.setdefault('c', 1))",
    "BY.pop('a', None)",
    "BY.clear()",
    "BY['c'], other = 1, 2",
    "for BY['c'] in (1,): pass",
    "[*(BY.pop(key) for key in ('a',))]",
    "(lambda key: BY.pop(key))('a')",
    "KNOWN.add(9)",
    "KNOWN.discard(1)",
    "KNOWN.difference_update({1})",
    "T.rows = []",
    "T.rows.append(1)",
    "T.by['a'].append(1)",
    "del T.rows",
    "if ROWS:\n    ROWS.append(1)",
    "try:\n    pass\nfinally:\n    ROWS.append(1)",
    "def inner(rows=ROWS.pop()): pass",
    "class Inner:\n    ROWS.append(1)",
]
READING = [
    "ROWS.copy().append(1)",
    "ROWS.index(1)",
    "len(ROWS)",
    "[*ROWS].append(1)",
    "BY['a']",
    "BY.get('c', [])",
    "BY.copy()['c'] = 1",
    "{**BY}.update(c=1)",
    "KNOWN | {9}",
    "getattr(T, 'rows')",
]
OWN = [
    "def f(ROWS):\n    ROWS.append(1)\nf([])",
    "def f():\n    ROWS = []\n    ROWS.append(1)\nf()",
    "def f():\n    for ROWS in ([],):\n        ROWS.append(1)\nf()",
    "def f(*ROWS, **BY):\n    BY['c'] = 1\nf()",
    "def f():\n    from collections import defaultdict as BY\n    BY = BY()\n    BY['c'] = 1\nf()",
    "def f():\n    ROWS = []\n    def inner():\n        ROWS.append(1)\n    inner()\nf()",
    "def f():\n    BY = 1\n    def g():\n        nonlocal BY\n        BY = {}\n        BY['c'] = 2\n    g()\nf()",
    "def f(value):\n    match value:\n        case [*ROWS]:\n            ROWS.append(1)\nf([1])",
    "def f(value):\n    match value:\n        case {**BY}:\n            BY['c'] = 1\nf({})",
    "def f():\n    try:\n        raise OSError\n    except OSError as T:\n        T.rows = []\nf()",
    "(lambda ROWS: ROWS.append(1))([])",
]
OTHERS = [
    "def f():\n    def ROWS(): pass\n    return ROWS\nf()\nROWS.append(1)",
    "def f():\n    global ROWS\n    ROWS.append(1)\nf()",
    "ROWS += [1]",
    "ROWS += [n for n in KNOWN]",
    "BY |= {'c': 1}",
    "def f():\n    global ROWS\n    ROWS += [1]\nf()",
    "ROWS = ROWS + [1]",
    "KNOWN = frozenset(KNOWN)\nKNOWN |= {9}",
    "NAMES = (1,)\nNAMES += (2,)",
    "def f():\n    def inner():\n        ROWS.append(1)\n    inner()\nf()",
    "def f():\n    class Inner:\n        def g(self):\n            ROWS.append(1)\n    Inner().g()\nf()",
    "async def f():\n    ROWS.append(1)\nimport asyncio\nasyncio.run(f())",
]


def in_function(snippet: str) -> str:
    return f"def run():\n{indent(snippet, '    ')}\nrun()"


SNIPPETS = [*CHANGING, *map(in_function, CHANGING), *READING, *map(in_function, READING), *OWN, *OTHERS]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_what_changes_is_named(snippet: str) -> None:
    module: dict[str, Any] = {}
    exec(MODULE, module)
    before = copy.deepcopy(module["T"])
    exec(compile(snippet, "snippet", "exec"), module)

    found = {change.name.partition(".")[0] for change in changes(ast.parse(snippet), ("ROWS", "BY", "KNOWN", "T"))}

    assert bool(found) == (module["T"] != before)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b[0].append(1)", ("a.b", 1, False, None)),
        ("\ndel a.b[0].c", ("a.b", 2, False, None)),
        ("a.b = 1", ("a.b", 1, False, None)),
        ("def f():\n    a[0] = 1", ("a", 2, True, None)),
        ("def f():\n    from ..m import a\n    a[0] = 1", ("a", 3, True, Binding(2, "m", "a"))),
        ("def f():\n    import a.b\n    def g():\n        a.b.c = 1", ("a.b.c", 4, True, Binding(0, "a", ""))),
    ],
)
def test_where_it_stands(text: str, expected: object) -> None:
    assert [*changes(ast.parse(text), ("a",))] == [expected]
