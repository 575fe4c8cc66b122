"""For every rule a small tree in which exactly that rule breaks, and its twin in which nothing does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
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
WAIVER = '[[waivers]]\nrule = "DOC001"\nscope = "{scope}"\nowner = "ana"\nreason = "soon"\nexpires = {expires}\n'
HOUSE = {"top.py": "", "left.py": "", "right.py": "", "bottom.py": ""}


class Fixture(NamedTuple):
    """Files that break one rule, and those to lay over them so that it holds."""

    broken: dict[str, str]
    repaired: dict[str, str]
    arguments: tuple[str, ...] = ("check", "--strict")
    prepare: Callable[[Path], None] = lambda root: None


def layering(settings: str, broken: dict[str, str], repaired: dict[str, str]) -> Fixture:
    return Fixture({**HOUSE, "gates.toml": settings, **broken}, repaired)


def docs(broken: str, repaired: str) -> Fixture:
    others = {"b.md": "# Here\n", "c.py": "x = 1\n", "gates.toml": DOCS}
    return Fixture({**others, "a.md": broken}, {"a.md": repaired})


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
    done = CliRunner().invoke(cli, [*fixture.arguments, "--root", str(root), "--format", "json"], standalone_mode=False)
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
