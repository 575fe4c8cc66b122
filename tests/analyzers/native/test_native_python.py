"""Registrations, fakes, probes and calls in Python source."""

from __future__ import annotations

import json

import pytest

from analyzers.native.extractor import NativeExtractor
from analyzers.native.facts import NativeFacts
from analyzers.native.vocabulary import Registrar, Vocabulary
from analyzers.source import Source

LIBRARY = "import torch\nlib = torch.library.Library('v', 'IMPL')\n"
PLAIN = Vocabulary()
OWN = Vocabulary(
    registrars=(Registrar("register_op", "own", ("fake_impl",), False), Registrar("auto_op", "own", (), True)),
    fakes=("fake_if_exists",),
    probes=("has_op",),
    modules=("app._C",),
    routes=(("take", 0), ("force", "route")),
)


def facts_of(text: str, vocabulary: Vocabulary = PLAIN, path: str = "m.py") -> NativeFacts:
    """As the cache gives them back."""
    return NativeFacts.from_json(json.loads(json.dumps(NativeExtractor(vocabulary).extract(Source(path, text)))))


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n@torch.library.custom_op('v::a', mutates_args=())\ndef f(x): ...\n",
        "from torch.library import custom_op as op\n@op('v::a', mutates_args=())\ndef f(x): ...\n",
        "import torch\nf = torch.library.custom_op('v::a', g, mutates_args=())\n",
        "import torch\n@torch.library.triton_op('v::a', mutates_args={})\ndef f(x): ...\n",
        "import torch\ntorch.library.define('v::a', '(Tensor x) -> Tensor')\n",
        "import torch\ntorch.library.define('v::a(Tensor x) -> Tensor')\n",
        "from torch.library import Library\nlib = Library('v', 'DEF')\nlib.define('a(Tensor x) -> Tensor')\n",
        "import torch\nclass A:\n    def f(self):\n        self.lib = torch.library.Library('v', 'FRAGMENT')\n"
        "        self.lib.define('a.out(Tensor x) -> Tensor')\n",
        "import torch\nwith torch.library._scoped_library('v', 'FRAGMENT') as lib:\n    lib.define('a() -> ()')\n",
    ],
)
def test_definitions(text: str) -> None:
    assert [row.operator for row in facts_of(text).definitions] == ["v::a"]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n@torch.library.register_fake('v::a')\ndef f(x): ...\n",
        "import torch\n@torch.library.impl_abstract('v::a')\ndef f(x): ...\n",
        "import torch\n@torch.library.register_fake(torch.ops.v.a)\ndef f(x): ...\n",
        "import torch\n@torch.library.custom_op('v::a')\ndef op(x): ...\n@op.register_fake\ndef _(x): ...\n",
        "import torch\n@torch.library.custom_op('v::a')\ndef op(x): ...\ntorch.library.register_fake(op, f)\n",
        f"{LIBRARY}lib.impl('a', f, 'Meta')\n",
        f"{LIBRARY}lib._register_fake('a', f)\n",
        "import torch\n@torch.library.impl('v::a', 'Meta')\ndef f(x): ...\n",
        f"{LIBRARY}@torch.library.impl(lib, 'a', 'Meta')\ndef f(x): ...\n",
        f"{LIBRARY}lib.impl('a', f, 'CompositeImplicitAutograd')\n",
    ],
)
def test_fakes(text: str) -> None:
    assert [row.operator for row in facts_of(text).fakes] == ["v::a"]


def test_implementations() -> None:
    text = f"{LIBRARY}lib.impl('a', kernel, 'CUDA')\nlib.impl('v::b', kernel)\n"

    assert [(row.operator, row.key, row.function) for row in facts_of(text).implementations] == [
        ("v::a", "CUDA", "kernel"),
        ("v::b", "", "kernel"),
    ]


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("import torch\nok = hasattr(torch.ops.v, 'a')\n", ["v::a"]),
        ("import torch\nop = getattr(torch.ops.v, 'a', None)\n", ["v::a"]),
        ("from torch import ops\nok = hasattr(ops.v, 'a')\n", ["v::a"]),
        ("import torch\nv = torch.ops.v\nok = hasattr(v, 'a')\n", ["v::a"]),
        ("import torch\nop = getattr(torch.ops.v, 'a')\n", []),
        ("import torch\nok = hasattr(torch, 'a') or hasattr(torch.ops, 'v')\n", []),
    ],
)
def test_probes(text: str, operators: list[str]) -> None:
    assert [row.operator for row in facts_of(text).probes] == operators


def test_a_call_is_told_with_its_scope_its_arguments_and_what_it_stands_under() -> None:
    text = """import torch

class A:
    def run(self, q):
        if self.fast:
            pass
        elif q.dim() == 2 and self.ok:
            while busy:
                return torch.ops.v.a.default(q, *more, scale=1 / 8)
        x = torch.ops.v.b(q) if q else None
        def inner():
            torch.ops.v.c()
"""
    a, b, c = facts_of(text).calls

    assert (a.operator, a.line, a.column, a.symbol) == ("v::a", 9, 24, "A.run")
    assert list(a.conditions) == ["not (self.fast)", "q.dim() == 2 and self.ok", "busy"]
    assert list(a.arguments) == ["q", "*more", "scale=1 / 8"]
    assert (b.operator, list(b.conditions)) == ("v::b", ["q"])
    assert (c.symbol, list(c.conditions)) == ("A.run.inner", [])


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.ops.load_library('x.so')\n",
        "# torch.ops.v.a(x)\ns = 'torch.ops.v.a(x)'\n",
        "'''torch.ops.v.a'''\n",
        "import torch\nx = torch.ops.v\n",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert facts_of(text).calls == []


def test_an_operator_that_is_handed_on_counts_once() -> None:
    found = facts_of("import torch\nKERNELS = {'a': torch.ops.v.a.default}\n").calls

    assert [(row.operator, list(row.arguments)) for row in found] == [("v::a", [])]


def test_a_tree_s_own_registrars() -> None:
    text = """from app import register_op, auto_op
register_op(op_name='a', op_func=f, mutates_args=[], fake_impl=g)
register_op('b', f, fake_impl=None)
@register_op(mutates_args=['x'])
def c(x): ...
@auto_op(op_name='d')
def _d(x): ...
@auto_op
def e(x): ...
wrapped = auto_op(f, mutates_args=[])
register_op(op_name=self.name)
@fake_if_exists('own::b')
def _(x): ...
"""
    found = facts_of(text, OWN)

    assert [row.operator for row in found.definitions] == ["own::a", "own::b", "own::c", "own::d", "own::e", "own::f"]
    assert [row.operator for row in found.fakes] == ["own::a", "own::d", "own::e", "own::f", "own::b"]


def test_a_tree_s_own_probes_and_native_modules() -> None:
    found = facts_of("from app import _C\nimport app\nif app.has_op('a', 'own::b'):\n    _C.decode(x)\n", OWN)

    assert [row.operator for row in found.probes] == ["a", "own::b"]
    assert [(row.operator, list(row.conditions)) for row in found.calls] == [
        ("_C::decode", ["app.has_op('a', 'own::b')"])
    ]


def test_calls_that_name_routes() -> None:
    text = "take('a')\nself.take('b' if x else 'c')\ntake(name)\nforce(1, route='d')\nforce('e')\ntaken('f')\n"

    assert [(row.function, row.route) for row in facts_of(text, OWN).uses] == [
        ("take", "a"),
        ("take", "b"),
        ("take", "c"),
        ("take", ""),
        ("force", "d"),
    ]


def test_newer_syntax_is_read() -> None:
    assert facts_of("import torch\ntype A = int\nx = f'{'a'}'\ntorch.ops.v.a()\n").calls[0].operator == "v::a"


def test_a_file_that_may_matter_and_does_not_parse_says_so() -> None:
    assert not facts_of("torch.ops.v.a(\n").parsed
    assert facts_of("def f(:\n").parsed


def test_another_vocabulary_is_another_fact() -> None:
    assert NativeExtractor(PLAIN).kind != NativeExtractor(OWN).kind
