"""Budgets and private access."""

from __future__ import annotations

from typing import Any

import pytest

FUNCTIONS = """\
def short():
    pass


@decorated(
    here=1,
)
def long():
    def inner():
        a()
        b()
    return inner


class Large:
    x = 1
    y = 2
    z = 3
    w = 4
    v = 5
"""


def test_functions_are_measured_from_def_to_their_last_statement(analyse_tree: Any) -> None:
    findings = analyse_tree({"a.py": FUNCTIONS}, shape={"max-function-lines": 4})
    assert [(f.symbol, f.line, f.amount, f.message) for f in findings] == [
        ("long", 8, 5, "the function `long` has 5 lines; the budget is 4")
    ]


def test_a_function_within_its_budget_passes(analyse_tree: Any) -> None:
    assert analyse_tree({"a.py": FUNCTIONS}, shape={"max-function-lines": 5}) == []


def test_a_long_file_is_a_finding_about_the_file(analyse_tree: Any) -> None:
    [finding] = analyse_tree({"a.py": "a\n" * 11}, shape={"max-file-lines": 10})
    assert (finding.line, finding.amount, finding.message) == (0, 11, "the file has 11 lines; the budget is 10")


def test_private_names_of_others_count_and_own_ones_do_not(analyse_tree: Any) -> None:
    text = (
        "from b import _hidden\nimport b\n_mine = 1\n\ndef f(self):\n    return b._lock, b._mine, self._x, b.__name__\n"
    )
    findings = analyse_tree({"a.py": text, "b.py": ""}, shape={"private-access": True})
    assert {(f.subject, f.symbol) for f in findings} == {("b._hidden", ""), ("b._lock", "f")}


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch._C",
        "import torch.nn as nn\nnn.functional._x",
        "from torch import _C",
        "def f():\n    from torch import nn\n    return nn._x",
        "import re\nre._parser",
        "try:\n    import torch\nexcept ImportError:\n    from torch import nn as torch\ntorch._x",
    ],
)
def test_private_names_of_modules_outside_of_the_tree_do_not_count(text: str, analyse_tree: Any) -> None:
    assert analyse_tree({"a.py": text, "b.py": ""}, shape={"private-access": True}) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pkg\npkg._x",
        "import pkg.mod as m\nm._x",
        "from pkg import mod\nmod.part._x",
        "from . import other\nother._x",
        "from pkg.generated import thing\nthing._x",
        "import torch\ntorch.load(x)._x",
        "try:\n    from pkg import fast\nexcept ImportError:\n    import slow as fast\nfast._x",
        "from pkg import _x",
    ],
)
def test_private_names_of_the_tree_count(text: str, analyse_tree: Any) -> None:
    files = {"pkg/__init__.py": "", "pkg/mod.py": "", "pkg/a.py": text}
    assert [finding.rule for finding in analyse_tree(files, shape={"private-access": True})] == ["LAY203"]


def test_the_class_around_is_no_other(analyse_tree: Any) -> None:
    text = "class A:\n    def f(self):\n        return __class__._x, self.__class__._y\n"
    assert analyse_tree({"a.py": text}, shape={"private-access": True}) == []


def test_shape_is_watched_in_the_files_of_the_policy(analyse_tree: Any) -> None:
    files = {"a/x.py": "a\nb\n", "b/y.py": "a\nb\n"}
    findings = analyse_tree(files, shape={"max-file-lines": 1, "files": ["b/**"]})
    assert [finding.path for finding in findings] == ["b/y.py"]
