"""Imports by call and by table."""

from __future__ import annotations

import json

import pytest

from analyzers.python.facts import Import, ImportFlag, PythonFacts
from analyzers.python.structure import read_python
from analyzers.source import Source


def imports_of(text: str, flag: ImportFlag) -> list[Import]:
    return [row for row in read_python(Source("module.py", text)).imports if row.flags & flag]


def called(text: str) -> list[tuple[str, list[str], int]]:
    return [row[:3] for row in imports_of(text, ImportFlag.DYNAMIC)]


def tabled(text: str) -> list[tuple[str, list[str], int]]:
    return [row[:3] for row in imports_of(text, ImportFlag.LAZY)]


CALLS = {
    "import importlib\nimportlib.import_module('a.b')": [("a.b", [], 0)],
    "import importlib as il\nx = il . import_module(\n  'a')": [("a", [], 0)],
    "from importlib import import_module as load\nload('a')": [("a", [], 0)],
    "from importlib import import_module\nimport_module(name='a')": [("a", [], 0)],
    "importlib.import_module('.a', package=__package__)": [("a", [], 1)],
    "importlib.import_module('..a.b', __name__)": [("a.b", [], 2)],
    "importlib.import_module('.a', 'p.q')": [("p.q.a", [], 0)],
    "importlib.import_module('..a', package='p.q')": [("p.a", [], 0)],
    "importlib.import_module('....a', package='p.q')": [],
    "importlib.import_module('.a', package)": [],
    "importlib.import_module(name)": [],
    "importlib.import_module(f'{name}')": [],
    "importlib.import_module('not a name')": [],
    "__import__('a.b')": [("a.b", [], 0)],
    "builtins.__import__('a')": [("a", [], 0)],
    "__import__('a', globals(), locals(), ['b', 'c'], 1)": [("a", ["b", "c"], 1)],
    "__import__('a', fromlist=('b',))": [("a", ["b"], 0)],
    "__import__('a', fromlist=('b', '*', 'not a name', 'c;d', 'e\\nf'))": [("a", ["b", "*"], 0)],
    "# importlib.import_module('a')": [],
    "'importlib.import_module(\"a\")'": [],
    "f = importlib.import_module\nf('a')": [("a", [], 0)],
    "from importlib import import_module as il; load = il\nload('a')": [("a", [], 0)],
    "def g():\n  f = __import__\n  f('a')": [("a", [], 0)],
    "f = other.import_module\nf('a')": [],
    "M = 'a.b'\nimport_module(M)": [("a.b", [], 0)],
    "M: Final = 'a'\ndef f(): return import_module(M)": [("a", [], 0)],
    "M = 'a'\nM = 'b'\nimport_module(M)": [],
    "M = 'a'\ndef f(M): return import_module(M)": [],
    "M = 'a'\nfor M in x: import_module(M)": [],
    "def f():\n  M = 'a'\n  import_module(M)": [],
    "import pkgutil\npkgutil.resolve_name('a.b:C.d')": [("a.b", ["C"], 0)],
    "from pkgutil import resolve_name as find\nfind('a.b')": [("a", ["b"], 0)],
    "pkgutil.resolve_name('a')": [("a", [], 0)],
    "from importlib.util import resolve_name\nresolve_name('a')": [],
    "import pytest as pt\npt.importorskip('a.b', minversion='1')": [("a.b", [], 0)],
    "from pytest import importorskip\nimportorskip(modname='a')": [("a", [], 0)],
    "self.import_module('a'); reimport_module('a')": [],
    "def import_module(name): pass": [],
    "f(importlib.import_module('a'), {'b': importlib.import_module('b')})": [("a", [], 0), ("b", [], 0)],
    "if x:\n importlib.import_module('a'\n": [],
    'x = f"{y["z"]}"; importlib.import_module(\'a\')': [("a", [], 0)],
}


@pytest.mark.parametrize(("text", "found"), CALLS.items())
def test_call_with_a_literal_name(text: str, found: list[tuple[str, list[str], int]]) -> None:
    assert called(text) == found


def test_call_stands_where_its_name_does() -> None:
    text = "class A:\n  def f(self):\n    try:\n      é = importlib.import_module('a')\n    except E: pass\n"
    facts = read_python(Source("module.py", text))
    (row,) = facts.imports
    flags = ImportFlag.DYNAMIC | ImportFlag.DEFERRED | ImportFlag.GUARDED
    assert (row.line, row.column, facts.symbol_name(row.symbol), row.flags) == (4, 35, "A.f", flags)


MECHANISMS = {
    "module-level __getattr__": "def __getattr__(name): return importlib.import_module(TABLE[name])\n",
    "an argument": "def load(path): return __import__(path)\ndef __getattr__(name): return load(TABLE[name])\n",
    "a method": "class R:\n  def load(self): return import_module(self.p)\nALL = [R(path) for path in TABLE.items()]\n",
    "another table": "def __getattr__(n): return import_module(ALL[n])\nALL = dict(TABLE)\n",
    "an updated table": "ALL = {}\nALL.update(TABLE)\ndef __getattr__(n): return import_module(ALL[n])\n",
    "a loop": "for name in TABLE:\n  import_module(name)\n",
    "lazy module": "sys.modules[__name__] = _LazyModule(__name__, globals()['__file__'], TABLE)\n",
    "lazy_loader": "import lazy_loader as lazy\n__getattr__, __dir__, _ = lazy.attach(__name__, TABLE)\n",
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())
def test_mechanism_makes_tables_count(mechanism: str) -> None:
    assert tabled(f"TABLE = {{'a': 'b.c'}}\n{mechanism}") == [("a", [], 0), ("b.c", [], 0)]


def test_tables_written_in_the_call_count() -> None:
    assert tabled("import lazy_loader\nx = lazy_loader.attach(__name__, {'a'}, {'b': ['C']})\n") == [
        ("a", [], 0),
        ("b", [], 0),
        ("C", [], 0),
    ]
    assert tabled("for name in ('a', 'b.c'):\n  import_module(name)\n") == [("a", [], 0), ("b.c", [], 0)]


NO_MECHANISMS = {
    "none": "",
    "a __getattr__ that imports nothing": "def __getattr__(name): return TABLE[name]\n",
    "a computed import of something else": (
        "NAMES = load()\ndef get(n): return import_module(NAMES[n])\ndef __getattr__(name): return TABLE[name]\n"
    ),
    "a lazy module of another table": "sys.modules[__name__] = _LazyModule(__name__, OTHER)\nprint(TABLE)\n",
    "attach without lazy_loader": "attach(TABLE)\n",
    "a method": "class A:\n  def __getattr__(self, name): ...\n",
    "the definition of a lazy module": "class _LazyModule(ModuleType): ...\n",
    "a function of that name": "def import_module(name): ...\n",
    "a literal import": "importlib.import_module('x')\n",
}


@pytest.mark.parametrize("text", NO_MECHANISMS.values(), ids=NO_MECHANISMS.keys())
def test_tables_do_not_count_without_a_mechanism(text: str) -> None:
    assert tabled(f"TABLE = {{'a': 'b.c'}}\n{text}") == []


TABLES = {
    "T = ['a', ('.b', {'..c.d'})]": [("a", [], 0), ("b", [], 1), ("c.d", [], 2)],
    "T: dict[str, str] = {'A': '.b:C'}": [("A", [], 0), ("b", ["C"], 1)],
    "T['a.b'] = ['C']": [("a.b", [], 0), ("C", [], 0)],
    "T['a'].extend(['B'])": [("a", [], 0), ("B", [], 0)],
    "T.update({'a': 'b'})": [("a", [], 0), ("b", [], 0)],
    "T += ['a']": [("a", [], 0)],
    "T = OrderedDict([('a', 'B')])": [("a", [], 0), ("B", [], 0)],
    "T = {**{'a': 1}, 'b': x} | {'c': 2}": [("a", [], 0), ("b", [], 0), ("c", [], 0)],
    "try:\n  x()\nexcept E:\n  pass\nelse:\n  T['a'] = ['B']": [("a", [], 0), ("B", [], 0)],
    "T = ['not a name', 'a-b', 'a.', '1', '', b'c', f'{d}']": [],
    "T = 'a'": [],
    "def f(): return ['a']": [],
    "class A:\n  T = ['a']": [],
    "T = ['a'": [],
}


@pytest.mark.parametrize(("table", "found"), TABLES.items())
def test_entries_of_a_table(table: str, found: list[tuple[str, list[str], int]]) -> None:
    assert tabled(f"def __getattr__(name): return import_module(T[name])\n{table}\n") == found


def test_entry_stands_where_its_string_does() -> None:
    rows = imports_of("def __getattr__(name): return import_module(é[name])\né = {'ü': '.b'}\n", ImportFlag.LAZY)
    assert [(row.line, row.column, row.symbol) for row in rows] == [(2, 6, -1), (2, 11, -1)]


def test_facts_survive_json() -> None:
    text = (
        "import a\nclass A:\n  def f(self):\n    from . import b\n    x._y\n"
        "def __getattr__(n): import_module(T)\nT = ['c']\n"
    )
    facts = read_python(Source("module.py", text))
    read = PythonFacts(json.loads(json.dumps(facts.stored)))
    assert read.lines == 7
    assert [symbol.name for symbol in read.symbols] == ["A", "A.f", "__getattr__"]
    assert (read.symbols, read.imports, read.private) == (facts.symbols, facts.imports, facts.private)
