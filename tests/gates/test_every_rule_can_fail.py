"""For every rule a small tree in which exactly that rule breaks, and its twin in which nothing does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from evidence_fixtures import EVIDENCE_FIXTURES
from rule_fixture import Fixture
from sample_project import commit, write

from gates.cli import cli
from gates.registry import all_rules

LAYERS = '[[layering.layers]]\nname = "house"\norder = ["top", "left | right", "bottom"]\n'
FORBIDDEN = '[[layering.forbidden]]\nname = "light"\nfrom = ["top"]\nto = ["torch"]\n'
ACYCLIC = '[[layering.acyclic]]\nname = "parts"\nwithin = "pkg"\n'
PROTECTED = '[[layering.protected]]\nname = "guts"\nmodules = ["bottom"]\nimporters = ["left"]\n'
COUPLING = '[[layering.coupling]]\nkind = "family"\npattern = "llama"\nowners = ["left.py"]\n'
SHAPE = "[layering.shape]\nmax-function-lines = 3\nmax-file-lines = 5\nprivate-access = true\ncycles = true\n"
DOCS = '[docs]\nmaintained = ["a.md"]\n'
ROUTES = """
[[routes.tables]]
name = "t"
symbol = "m.ROUTES"
stage = "stage"
executors = ["m.KERNELS"]
vocabularies = { codecs = "m.CODECS" }
operators = ["v::{binding}"]
conditions = [
    { field = "stage", test = "one-of", wildcard = "any" },
    { field = "codecs", test = "one-of" },
]
"""
RECORD = """from typing import NamedTuple

class Route(NamedTuple):
    name: str
    stage: str = "any"
    codecs: tuple = ()
    binding: str | None = None

CODECS = ("fp16", "bf16")
"""
OPERATORS = """
TORCH_LIBRARY(v, m) {
  m.def("a() -> ()");
  m.def("b() -> ()");
  m.impl("a", torch::kCUDA, &a);
}
TORCH_LIBRARY_IMPL(v, Meta, m) { m.impl("a", &fake); m.impl("b", &fake); }
"""
PROBES = "import torch\nOK = hasattr(torch.ops.v, 'a'), hasattr(torch.ops.v, 'b')\n"
WAIVER = '[[waivers]]\nrule = "DOC001"\nscope = "{scope}"\nowner = "ana"\nreason = "soon"\nexpires = {expires}\n'
ENV = '[env]\nprefixes = ["X_"]\nfiles = ["*.py"]\n'
ENV_REGISTRY = '\n[[env.registries]]\nfiles = ["envs.py"]\nsymbol = "R"\naccessor = "envs"\n'
ENV_PAGE = """# Environment variables

`gates env --write` generates this page from the registries; change those, not this file. It says what is declared. \
Whether a variable has an effect is a matter of the code that reads it.

## R

Registered in `envs.py`.

| Variable | Default |
| --- | --- |
| `X_PORT` | `"80"` |
"""
CONFIG = '[config]\nroots = ["conf.Root"]\n'
CONFIG_ALIASES = f'{CONFIG}[[config.aliases]]\ntable = "conf.ALIASES"\n'
CONFIG_RESOURCES = f'{CONFIG}[[config.resources]]\nname = "memory"\nfields = "a|b"\nowner = "a"\n'
REFERENCE = """[reference]
page = "docs/page.md"
title = "Codecs"

[[reference.sections]]
heading = "All"
symbol = "m.CODECS"
fields = ["name", "bits"]
guide = "docs/guide.md"
"""
REFERENCE_PAGE = """# Codecs

`gates reference --write` generates this page from the source; change that, not this file. It holds declarations: \
a row repeats what a table or a class states, also where that is called implemented. That an operator exists, \
is chosen or has run takes other evidence.

## All

What it is for: [`docs/guide.md`](guide.md).

Declared by `m.CODECS` in [`m.py:9`](../m.py#L9).

| name | bits | Source |
| --- | --- | --- |
| `a` | 8 | [`m.py:9`](../m.py#L9) |
"""
HOUSE = {"top.py": "", "left.py": "", "right.py": "", "bottom.py": ""}


def layering(settings: str, broken: dict[str, str], repaired: dict[str, str]) -> Fixture:
    return Fixture({**HOUSE, "gates.toml": settings, **broken}, repaired)


def config(broken: str, repaired: str, settings: str = CONFIG) -> Fixture:
    """Of a module with a root of two fields, which somebody reads."""
    reader = "import os\n\n\ndef f(x):\n    return x.a, x.b\n"
    root = "from dataclasses import dataclass\n\n\n@dataclass\nclass Root:\n    a: int = 1\n    b: int = 2\n"
    return Fixture(
        {"gates.toml": settings, "use.py": reader, "conf.py": root + broken},
        {"conf.py": root + repaired},
    )


def docs(broken: str, repaired: str) -> Fixture:
    others = {"b.md": "# Here\n", "c.py": "x = 1\n", "gates.toml": DOCS}
    return Fixture({**others, "a.md": broken}, {"a.md": repaired})


def routes(broken: str, repaired: str, kernels: str = "{'a': 1, 'b': 2}") -> Fixture:
    """A table of the routes `a` and `b`, the latter of which takes everything."""

    def module(table: str) -> str:
        return f"{RECORD}ROUTES = ({table})\nKERNELS = {kernels}\n"

    return Fixture({"gates.toml": ROUTES, "m.py": module(broken)}, {"m.py": module(repaired)})


def operators(broken: dict[str, str], repaired: dict[str, str]) -> Fixture:
    table = f"{RECORD}ROUTES = (Route('a', 'x', binding='a'), Route('b', binding='b'))\nKERNELS = {{'a': 1, 'b': 2}}\n"
    sound = {"m.py": table, "ops.cpp": OPERATORS, "probes.py": PROBES, "gates.toml": ROUTES}
    return Fixture({**sound, **broken}, repaired)


def env(settings: str, needs: str, broken: dict[str, str], repaired: dict[str, str]) -> Fixture:
    """A registry of X_PORT, which `user.py` reads."""
    base = {
        "gates.toml": f"{ENV}{settings}{ENV_REGISTRY}{needs}",
        "envs.py": "import os\nR = {'X_PORT': lambda: os.getenv('X_PORT', '80')}\n",
        "user.py": "import envs\nenvs.X_PORT\n",
        "a.md": "X_PORT\n",
    }
    return Fixture({**base, **broken}, repaired)


def reference(broken: dict[str, str], repaired: dict[str, str]) -> Fixture:
    """A table of one codec, its page and its guide."""
    base = {"gates.toml": REFERENCE, "m.py": codecs(), "docs/page.md": REFERENCE_PAGE, "docs/guide.md": ""}
    return Fixture({**base, **broken}, repaired)


def codecs(table: str = "CODECS = (Codec('a'),)", field: str = "bits") -> str:
    record = f"from typing import NamedTuple\n\n\nclass Codec(NamedTuple):\n    name: str\n    {field}: int = 8\n"
    return f"{record}\n\n{table}\n"


def unreadable(root: Path) -> None:
    os.mkfifo(root / "pipe.py")


def dangling(root: Path) -> None:
    (root / "link.py").symlink_to("nowhere.py")


def accept_today(root: Path) -> None:
    assert CliRunner().invoke(cli, ["init", "--root", str(root)]).exit_code == 0
    write(root, {"a.md": "# A\n"})


def grow(root: Path) -> None:
    write(root, {"gates.toml": DOCS, "a.md": "# A\n"})
    assert CliRunner().invoke(cli, ["init", "--root", str(root)]).exit_code == 0
    commit(root, "clean", init=True)
    write(root, {"a.md": "[x](gone.md)\n"})
    (root / "baselines/docs.json").unlink()
    assert CliRunner().invoke(cli, ["init", "--root", str(root)]).exit_code == 0


FIXTURES = {
    "LAY001": layering(LAYERS, {"bottom.py": "import top\n"}, {"bottom.py": ""}),
    "LAY002": layering(LAYERS, {"left.py": "import right\n"}, {"left.py": "import bottom\n"}),
    "LAY003": layering(
        FORBIDDEN,
        {"top.py": "import left\n", "left.py": "def f():\n    import torch\n"},
        {"left.py": "def f():\n    import numpy\n"},
    ),
    "LAY004": layering(
        ACYCLIC,
        {"pkg/__init__.py": "", "pkg/a.py": "from . import b\n", "pkg/b.py": "def f():\n    from . import a\n"},
        {"pkg/b.py": ""},
    ),
    "LAY005": layering(PROTECTED, {"right.py": "import bottom\n"}, {"right.py": "import left\n"}),
    "LAY101": layering(
        COUPLING, {"right.py": "x = 'llama'\n"}, {"right.py": "# llama\nx = 1\n", "left.py": "llama = 1\n"}
    ),
    "LAY201": layering(
        SHAPE, {"top.py": "def f():\n    x = 1\n    y = 2\n    z = 3\n"}, {"top.py": "def f():\n    x = 1\n"}
    ),
    "LAY202": layering(SHAPE, {"top.py": "x = 1\n" * 6}, {"top.py": "x = 1\n" * 5}),
    "LAY203": layering(SHAPE, {"top.py": "import left\nleft._x\n"}, {"top.py": "import left\nleft.x\n"}),
    "LAY204": layering(
        SHAPE,
        {
            "top.py": "import left\n",
            "left.py": "def f():\n    import top\n\n\nimport right\n",
            "right.py": "import left\n",
        },
        {"right.py": "def f():\n    import left\n"},
    ),
    "DOC001": docs("[x](gone.md)\n", "[x](b.md)\n"),
    "DOC002": docs("[x](b.md#nowhere)\n", "[x](b.md#here)\n"),
    "DOC003": docs("[x](c.py#L2)\n", "[x](c.py#L1)\n"),
    "DOC004": docs("![x](gone.png)\n", "![x](c.py)\n"),
    "DOC005": docs("[x](../../etc/passwd)\n", "[x](b.md)\n"),
    "DOC006": docs("[x](B.md)\n", "[x](b.md)\n"),
    "DOC007": Fixture({"gates.toml": DOCS, "b.md": ""}, {"a.md": "# A\n"}),
    "RTE001": routes("Route('a', 'x'), Route('b', codecs=f())", "Route('a', 'x'), Route('b')"),
    "RTE002": routes("Route('a', 'x', codec=()), Route('b')", "Route('a', 'x'), Route('b')"),
    "RTE003": routes("Route('a', 'x'), Route('a', 'y'), Route('b')", "Route('a', 'x'), Route('b')"),
    "RTE004": routes(
        "Route('a', 'x'), Route('b')", "Route('a', 'x'), Route('c', 'y'), Route('b')", "{'a': 1, 'b': 2, 'c': 3}"
    ),
    "RTE005": routes("Route('a', 'x'), Route('c', 'y'), Route('b')", "Route('a', 'x'), Route('b')"),
    "RTE006": routes("Route('a', 'x', ('fp61',)), Route('b')", "Route('a', 'x', ('fp16',)), Route('b')"),
    "RTE007": routes("Route('a', 'x'), Route('b', 'y', ('fp16',))", "Route('a', 'x'), Route('b', 'y')"),
    "RTE008": routes("Route('b'), Route('a', 'x')", "Route('a', 'x'), Route('b')"),
    "RTE101": operators(
        {"ops.cpp": OPERATORS.replace('m.def("b() -> ()");', "").replace('m.impl("b", &fake);', "")},
        {"ops.cpp": OPERATORS},
    ),
    "RTE102": operators({"ops.cpp": OPERATORS.replace('m.impl("b", &fake);', "")}, {"ops.cpp": OPERATORS}),
    "RTE103": operators({"probes.py": ""}, {"probes.py": PROBES}),
    "RTE104": operators(
        {"more.cpp": 'TORCH_LIBRARY_IMPL(v, CUDA, m) { m.impl("b", &a); }\n'},
        {"more.cpp": 'TORCH_LIBRARY_IMPL(v, CUDA, m) { m.impl("b", &b); }\n'},
    ),
    "ENV001": env(
        'reference = ""\n',
        "",
        {"user.py": "import os\nimport envs\nenvs.X_PORT\nos.getenv('X_OTHER')\n"},
        {"user.py": "import os\nimport envs\nenvs.X_PORT\nos.getenv('OTHER')\n"},
    ),
    "ENV002": env('reference = ""\n', "", {"user.py": ""}, {"user.py": "import envs\nenvs.X_PORT\n"}),
    "ENV003": env(
        'reference = ""\n', "", {"envs.py": "R = {'X_PORT': 1, 'X_PORT': 2}\n"}, {"envs.py": "R = {'X_PORT': 2}\n"}
    ),
    "ENV004": env(
        'reference = ""\n',
        "",
        {"envs.py": "import os\nR = {'X_PORT': lambda: os.getenv('X_PROT')}\n"},
        {"envs.py": "import os\nR = {'X_PORT': lambda: os.getenv('X_PORT')}\n"},
    ),
    "ENV005": env(
        'reference = ""\n',
        'needs = ["owner"]\n',
        {"envs.py": "R = {'X_PORT': {'default': 1}}\n"},
        {"envs.py": "R = {'X_PORT': {'default': 1, 'owner': 'ana'}}\n"},
    ),
    "ENV006": env(
        'reference = ""\n',
        'needs = ["default"]\n',
        {"envs.py": "R = {'X_PORT': V(default=port())}\n"},
        {"envs.py": "R = {'X_PORT': V(default=80)}\n"},
    ),
    "ENV007": env(
        'reference = ""\n',
        'categories = ["debug"]\n',
        {"envs.py": "R = {'X_PORT': {'category': 'debugging'}}\n"},
        {"envs.py": "R = {'X_PORT': {'category': 'debug'}}\n"},
    ),
    "ENV008": env(
        'reference = ""\n',
        "",
        {"envs.py": "import os\nX_PORT: int = 80\nR = {'X_PORT': lambda: int(os.getenv('X_PORT', '8080'))}\n"},
        {"envs.py": "import os\nX_PORT: int = 80\nR = {'X_PORT': lambda: int(os.getenv('X_PORT', '80'))}\n"},
    ),
    "ENV009": env(
        'reference = ""\n',
        'deprecation-needs = ["reason", "replacement"]\n',
        {"envs.py": "R = {'X_PORT': V(deprecation={'reason': 'old', 'replacement': 'X_GONE'})}\n"},
        {"envs.py": "R = {'X_PORT': V(deprecation={'reason': 'old', 'replacement': 'PORT'})}\n"},
    ),
    "ENV010": env(
        'reference = ""\ninitialisation = ["main.py"]\n',
        "",
        {"user.py": "import os\nos.getenv('X_PORT')\n"},
        {"user.py": "import envs\nenvs.X_PORT\n", "main.py": "import os\nos.getenv('X_PORT')\n"},
    ),
    "ENV011": env('reference = ""\ndocuments = ["a.md"]\n', "", {"a.md": ""}, {"a.md": "X_PORT\n"}),
    "ENV012": env('reference = ""\ndocuments = ["a.md"]\n', "", {"a.md": "X_PORT, X_HOST\n"}, {"a.md": "X_PORT\n"}),
    "ENV013": env(
        'reference = ""\n',
        "",
        {"user.py": "import envs\nenvs.X_PORT\ndef test(monkeypatch):\n    monkeypatch.setenv('X_PORTS', '1')\n"},
        {"user.py": "import envs\nenvs.X_PORT\ndef test(monkeypatch):\n    monkeypatch.setenv('X_PORT', '1')\n"},
    ),
    "ENV014": env(
        'reference = ""\n',
        "",
        {"user.py": "import os\nimport envs\nenvs.X_PORT\ndef get(n):\n    return os.getenv(f'X_{n}')\n"},
        {"user.py": "import os\nimport envs\nenvs.X_PORT\ndef get(n):\n    return os.getenv(n)\nget('X_PORT')\n"},
    ),
    "ENV015": env('reference = "env.md"\n', "", {"env.md": "# Old\n"}, {"env.md": ENV_PAGE}),
    "ENV016": env(
        'reference = ""\n',
        "",
        {"user.py": f"import os\nimport envs\nenvs.X_PORT\nx = os.getenv('X_PORT'){' + x' * 700}\n"},
        {"user.py": "import os\nimport envs\nenvs.X_PORT\nx = os.getenv('X_PORT')\n"},
    ),
    "CFG001": config("@dataclass\nclass Other:\n    a: int = 1\n", "@dataclass\nclass Other(Root):\n    a: int = 1\n"),
    "CFG002": config(
        "    b: int = field(1, env='X')\n    a: int = field(1, env='X')\n", "    a: int = field(1, env='X')\n"
    ),
    "CFG003": config("    c: int = 3\n", "    b: int = 3\n"),
    "CFG004": config(
        "    def compute_hash(self):\n        return hash(self.a)\n",
        "    def compute_hash(self):\n        return hash((self.a, self.b))\n",
    ),
    "CFG005": Fixture(
        {
            "gates.toml": CONFIG,
            "conf.py": "class Root(BaseSettings):\n    a: int = 1\n",
            "use.py": "import os\n\n\ndef f(x):\n    return os.environ['A'] or x.a\n",
        },
        {"use.py": "def f(x):\n    return x.a\n"},
    ),
    "CFG006": config("known = {}\n", "known = ()\n"),
    "CFG007": Fixture(
        {
            "gates.toml": CONFIG_RESOURCES,
            "conf.py": "class Root:\n    a: int\n    b: int\n    f = lambda s: s.a or s.b\n",
        },
        {"conf.py": "class Root:\n    a: int\n    c: int\n    f = lambda s: s.a or s.c\n"},
    ),
    "CFG008": config("ALIASES = {'X': 'c'}\n", "ALIASES = {'X': 'b'}\n", CONFIG_ALIASES),
    "CFG009": config(f"x = {'(' * 250}{')' * 250}\n", "x = ()\n"),
    "REF001": reference({"docs/page.md": "# Old\n"}, {"docs/page.md": REFERENCE_PAGE}),
    "REF002": reference(
        {
            "gates.toml": REFERENCE.replace("guide.md", "gone.md"),
            "docs/page.md": REFERENCE_PAGE.replace("guide.md", "gone.md"),
        },
        {"docs/gone.md": ""},
    ),
    "REF003": reference({"m.py": codecs(field="width")}, {"m.py": codecs()}),
    "REF004": reference({"m.py": codecs("FORMATS = (Codec('a'),)")}, {"m.py": codecs()}),
    "REF005": reference({"m.py": codecs("CODECS = tuple(found())")}, {"m.py": codecs()}),
    **EVIDENCE_FIXTURES,
    "SRC001": Fixture(
        {**HOUSE, "gates.toml": COUPLING}, {"gates.toml": 'exclude = ["pipe.py"]\n' + COUPLING}, prepare=unreadable
    ),
    "SRC002": layering(COUPLING, {"top.py": "def f(:\n"}, {"top.py": "def f(): pass\n"}),
    "SRC003": layering(COUPLING, {"top.py": "# coding: klingon\n"}, {"top.py": "# coding: utf-8\n"}),
    "SRC004": Fixture({**HOUSE, "gates.toml": COUPLING}, {"nowhere.py": ""}, prepare=dangling),
    "BAS001": Fixture(
        {"gates.toml": DOCS + WAIVER.format(scope="b.md", expires="2020-01-01"), "a.md": "# A\n"}, {"gates.toml": DOCS}
    ),
    "BAS002": Fixture({"gates.toml": DOCS, "a.md": "[x](gone.md)\n"}, {"a.md": "[x](gone.md)\n"}, prepare=accept_today),
    "BAS003": Fixture(
        {"gates.toml": DOCS + WAIVER.format(scope="a.md", expires="2999-01-01"), "a.md": "# A\n"},
        {"a.md": "[x](gone.md)\n"},
    ),
    "BAS004": Fixture(
        {},
        {"gates.toml": DOCS + WAIVER.format(scope="a.md", expires="2999-01-01")},
        ("baseline", "verify", "--base", "HEAD"),
        grow,
    ),
}


def broken_rules(root: Path, fixture: Fixture) -> list[str]:
    arguments = [argument.format(root=root) for argument in fixture.arguments]
    done = CliRunner().invoke(cli, [*arguments, "--root", str(root), "--format", "json"], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return [finding["rule"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("code", FIXTURES)
def test_exactly_this_rule_breaks(tmp_path: Path, code: str) -> None:
    fixture = FIXTURES[code]
    write(tmp_path, fixture.broken)
    fixture.prepare(tmp_path)

    assert set(broken_rules(tmp_path, fixture)) == {code}

    write(tmp_path, fixture.repaired)

    assert broken_rules(tmp_path, fixture) == []


def test_every_rule_has_its_fixture() -> None:
    assert FIXTURES.keys() == all_rules().keys()
