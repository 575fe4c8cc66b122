"""The reader of declared expressions: what it understands, and what it refuses with the expression in the message."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.declarations.modules import DeclaredModule
from analyzers.declarations.outline import Outline, OutlineExtractor
from analyzers.declarations.reader import MissingError, Reader, UnreadableError
from analyzers.declarations.values import EnumMember, Place, Record, Reference, plain, text_of
from analyzers.source import Source

DATACLASS = "from dataclasses import dataclass, field, KW_ONLY\nfrom typing import ClassVar, NamedTuple\n"
ROUTE = f"""{DATACLASS}
@dataclass(frozen=True)
class Route:
    name: str
    stage: str = 'any'
    sizes: tuple = ()
"""


def module(name: str, text: str, path: str = "") -> DeclaredModule:
    """As the cache gives it back."""
    path = path or f"{name.replace('.', '/')}.py"
    stored = json.loads(json.dumps(OutlineExtractor().extract(Source(path, text))))
    return DeclaredModule(name, path, Outline.from_json(stored))


def reader_of(*modules: DeclaredModule, outside: Callable[[str], bool] = lambda name: False) -> Reader:
    return Reader({known.name: known for known in modules}, outside)


def value_of(text: str, name: str = "X") -> Any:
    return reader_of(module("m", text)).expression(f"m.{name}").value()


def refusal(text: str) -> UnreadableError:
    with pytest.raises(UnreadableError) as caught:
        value_of(text)
    return caught.value


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
LITERALS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(LITERALS)
def test_a_literal_means_what_python_says_it_means(literal: Any) -> None:
    found = value_of(f"X = {literal!r}\n")

    assert found == literal
    assert repr(found) == repr(literal)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X = -3", -3),
        ("X = -0.5", -0.5),
        ("X: tuple[str, ...] = ('a', 'b')", ("a", "b")),
        ("X = ['a', 'b']", ("a", "b")),
        ("X = 'a' 'b'", "ab"),
        ("A = 'a'\nX = (A, A)", ("a", "a")),
        ("X = (A,)\nA = 1", (1,)),
        ("X = {1, 2}", frozenset({1, 2})),
        ("X = frozenset()", frozenset()),
        ("X = frozenset(('a', 'b'))", frozenset({"a", "b"})),
        ("X = frozenset({'a': 1})", frozenset({"a"})),
        ("A = frozenset((1,))\nX = A | {2} | {3}", frozenset({1, 2, 3})),
        ("X = {'a': 1} | {'a': 2, 'b': 3}", {"a": 2, "b": 3}),
        ("A = {'a': 1}\nX = {'a': 0, 'c': 4, **A, 'b': 2, **{'b': 3}}", {"a": 1, "c": 4, "b": 3}),
        ("A = {'a': 1}\nX = {**A}", {"a": 1}),
        ("X = {('a', 1): [2]}", {("a", 1): (2,)}),
        ("def f(): pass\nX = f", Reference("m.f")),
    ],
)
def test_what_it_understands(text: str, expected: object) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("X = f()", "f()"),
        ("X = 96 * 1024", "96 * 1024"),
        ("X = [n for n in range(3)]", "[n for n in range(3)]"),
        ("X = f'{a}'", "f'{a}'"),
        ("X = {**A, 'a': 1}", "A"),
        ("A = (1,)\nX = {'b': 2, **A}", "{'b': 2} | A"),
        ("X = (*A, 1)", "*A"),
        ("X = A[0]", "A[0]"),
        ("X = a if b else c", "a if b else c"),
        ("X = (1, unknown)", "unknown"),
        ("import os\nX = os.sep", "os.sep"),
        ("X = {1} | (2,)", "{1} | (2)"),
        ("X = {[1]: {}, (1, {}): 2}", "{(1): {}, (1, {}): 2}"),
        ("X = {(1, {})}", "{(1, {})}"),
        ("X = b'bytes'", "b'bytes'"),
        ("X = Y\nY = X", "X"),
        ("X = (Y,)\nY = (X,)", "Y"),
        ("X = frozenset(1)", "frozenset(1)"),
        ("frozenset = list\nX = frozenset((1,))", "frozenset((1))"),
        ("X = 1\nX = 2", "X"),
        ("if a:\n    X = 1", "X"),
        ("X = 1\ndef f():\n    global X\n    X = 2", "X"),
        ("X = {}\nX['a'] = 1", "X"),
        ("X = []\nX.append(1)", "X"),
        ("X = []\nX += [1]", "X"),
        ("X = {}\ndel X['a']", "X"),
        ("X = []\ndef register(name):\n    X.append(name)", "X"),
        ("X = []\nY = X\nY.append(1)", "X"),
        ("X, Y = 1, 2", "X"),
        ("for X in (1, 2): pass", "X"),
        (f"X = {'g(' * 60}{')' * 60}", "g(g("),
    ],
)
def test_anything_else_is_an_error_that_quotes_the_expression(text: str, quoted: str) -> None:
    assert quoted in str(refusal(text))


def test_an_error_says_where_the_expression_stands() -> None:
    assert refusal("A = 1\n\nX = (\n    A,\n    'ä', f(),\n)").place == Place("m.py", 5, 10)


def test_a_long_expression_is_cut() -> None:
    assert len(str(refusal(f"X = f({'1, ' * 500})"))) < 250


@pytest.mark.parametrize("text", ["X = (", "X = 'a\n", "", "X = 1\0"])
def test_a_file_that_does_not_parse_or_says_nothing_is_no_traceback(text: str) -> None:
    with pytest.raises((UnreadableError, MissingError)):
        value_of(text)


@pytest.mark.parametrize("deep", ["(" * 90 + ")" * 90, "|".join("a" * 20_000), "-" * 5_000 + "1", "[" * 5_000])
def test_deep_nesting_is_no_traceback(deep: str) -> None:
    with suppress(UnreadableError):
        value_of(f"X = {deep}")


def test_newer_syntax_elsewhere_in_the_file_does_not_matter() -> None:
    assert value_of("type A = int\ndef f[T](x: T) -> T: ...\nX = 1\nY = f'{'a'}'\n") == 1


def test_a_record_has_what_its_constructor_is_given_and_its_defaults() -> None:
    found = value_of(f"{ROUTE}X = Route('flash', sizes=(1, 2))\n")

    assert found == Record("m.Route", (("name", "flash"), ("stage", "any"), ("sizes", (1, 2))))
    assert plain(found) == "flash"


def test_records_agree_with_dataclasses_themselves() -> None:
    text = f"""{DATACLASS}
@dataclass
class Base:
    a: int
    b: int = 2
    shared: ClassVar[int] = 9

@dataclass
class X(Base):
    b: int = 7
    _: KW_ONLY
    c: tuple = field(default=(3,))
    d: dict = field(default_factory=dict)
    e: int = field(default=5, init=False)

A = X(1, c=(4,))
B = X(1, 8)
"""
    namespace: dict[str, Any] = {}
    exec(compile(text, "m", "exec", dont_inherit=True), namespace)
    reader = reader_of(module("m", text))
    known = [field.name for field in dataclasses.fields(namespace["X"]) if field.init]

    assert sorted(field.name for field in reader.fields("m.X")) == sorted(known)
    for name in ("A", "B"):
        fields = dict(reader.expression(f"m.{name}").value().fields)
        assert fields == {key: value for key, value in vars(namespace[name]).items() if key in known}
    assert reader.problems == []


def test_a_named_tuple_is_a_record() -> None:
    text = f"{DATACLASS}class Row(NamedTuple):\n    a: int\n    b: int = 2\nX = Row(1)\n"

    assert value_of(text) == Record("m.Row", (("a", 1), ("b", 2)))


@pytest.mark.parametrize(
    ("call", "problems"),
    [
        ("Route()", [("name", "missing")]),
        ("Route('a', nme='b')", [("nme", "unknown")]),
        ("Route('a', name='b')", [("name", "doubled")]),
        ("Route('a', 'b', (), 4)", [("argument 4", "surplus")]),
        ("Route('a', stage='b', stage='c')", [("stage", "doubled")]),
    ],
)
def test_wrong_fields_are_told(call: str, problems: list[tuple[str, str]]) -> None:
    reader = reader_of(module("m", f"{ROUTE}X = {call}\n"))
    reader.expression("m.X").value()

    assert [(problem.field, problem.kind) for problem in reader.problems] == problems


@pytest.mark.parametrize("decorator", ["", "@dataclass(init=False)\n", "@other\n"])
def test_a_class_without_declared_fields_is_no_record(decorator: str) -> None:
    refusal(f"{DATACLASS}{decorator}class A:\n    a: int\nX = A(1)\n")


@pytest.mark.parametrize("factory", ["make", "lambda: [1]", "(make,)", "make()"])
def test_a_default_that_runs_code_is_refused(factory: str) -> None:
    text = f"{DATACLASS}@dataclass\nclass A:\n    a: list = field(default_factory={factory})\nX = A()\n"

    assert "field(default_factory=" in str(refusal(text))


def test_members_of_enumerations() -> None:
    text = (
        "import enum\nclass Base(enum.Enum): pass\nclass S(Base):\n    A = 'a'\n    B = enum.auto()\nX = (S.A, S.B)\n"
    )
    found = value_of(text)

    assert found == (EnumMember("m.S", "A", "a"), EnumMember("m.S", "B", "B"))
    assert text_of(found) == f"{enum.Enum('S', [('A', 'a')]).A.value}, B"
    refusal(text.replace("S.B)", "S.C)"))


def test_names_of_other_modules() -> None:
    formats = module("p.formats", f"{ROUTE}FP16 = Route('fp16')\ndef read(): pass\n")
    package = module("p", "from .formats import FP16 as HALF\nfrom p import formats\n", "p/__init__.py")
    own = (
        "from p import HALF\nimport p.formats\nfrom . import formats as f\nX = (HALF, p.formats.FP16, f.FP16, f.read)\n"
    )
    found = reader_of(formats, package, module("p.m", own)).expression("p.m.X").value()

    assert (
        found[0]
        == found[1]
        == found[2]
        == Record("p.formats.Route", (("name", "fp16"), ("stage", "any"), ("sizes", ())))
    )
    assert found[3] == Reference("p.formats.read")


TABLES = "X = ['a']\nALIAS = X\nclass Y: pass\n"


@pytest.mark.parametrize(
    "text",
    [
        "from app.tables import X\nX.append('b')",
        "from .tables import X as Z\nZ[0] = 'b'",
        "import app.tables\napp.tables.X += ['b']",
        "import app.tables as t\nt.X = []",
        "from app.tables import X\nX += ['b']",
        "from app import tables\ndel tables.X[0]",
        "from app.package import X\nX.append('b')",
        "from app.tables import ALIAS\nALIAS.append('b')",
        "from app.tables import X\ndef register(name):\n    X.append(name)",
        "def register(name):\n    from app.tables import X\n    X.append(name)",
        "def register(name):\n    from . import tables\n    tables.X.append(name)",
    ],
)
def test_what_another_module_changes_is_no_plain_data(text: str) -> None:
    others = (module("app.package", "from app.tables import X"), module("app.other", f"{text}\n"))
    reader = reader_of(module("app.tables", TABLES), *others)

    with pytest.raises(UnreadableError, match="`X` is changed after it is bound") as caught:
        reader.expression("app.tables.X").value()

    assert caught.value.place == Place("app/other.py", len(text.splitlines()), 0)


@pytest.mark.parametrize(
    "text",
    [
        "X = []\nX.append('b')",
        "from other.tables import X\nX.append('b')",
        "from app.tables import X\nX.index('a')",
        "from app.tables import X\nX = X + ['b']",
        "from app.tables import X\ndef f(X):\n    X.append('b')",
        "def f():\n    from other.tables import X\n    X.append('b')",
        "from app.tables import Y\nY.X = []",
    ],
)
def test_what_no_module_changes_is_plain_data(text: str) -> None:
    reader = reader_of(module("app.tables", TABLES), module("app.other", text))

    assert reader.expression("app.tables.X").value() == ("a",)


def test_names_outside_of_the_tree_stand_for_themselves_where_they_are_declared() -> None:
    text = "import torch as t\nfrom torch import float16\nX = (t.float32, float16, t.ops.v100.decode)\n"
    own = module("m", text)

    found = reader_of(own, outside=lambda name: name.startswith("torch.")).expression("m.X").value()

    assert found == (Reference("torch.float32"), Reference("torch.float16"), Reference("torch.ops.v100.decode"))
    refusal(text)


def test_modules_that_import_each_other_in_a_circle_do_not_hang() -> None:
    left, right = module("left", "from right import X\n"), module("right", "from left import X\n")
    own = module("m", "from left import X as Y\nX = Y\n")

    with pytest.raises(UnreadableError):
        reader_of(left, right, own).expression("m.X").value()


def test_what_is_missing_is_told_with_what_there_is() -> None:
    with pytest.raises(MissingError) as caught:
        reader_of(module("m", "ROUTES = ()\n")).expression("m.ROUTE")
    assert "m.ROUTES" in caught.value.known
    with pytest.raises(MissingError):
        reader_of(module("m", "")).expression("n.ROUTES")
