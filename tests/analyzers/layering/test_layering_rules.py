"""For every rule a tree in which exactly that rule breaks, and the same tree put right."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.layering.rules import RULES

LAYERS = {"layers": [{"name": "app", "order": ["cli", "engine | models", "kernels"]}]}

FIXTURES: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, str]]] = {
    "LAY001": (
        LAYERS,
        {"cli.py": "import engine", "engine.py": "", "models.py": "", "kernels.py": "import engine"},
        {"kernels.py": ""},
    ),
    "LAY002": (
        LAYERS,
        {"cli.py": "import engine", "engine.py": "import models", "models.py": "", "kernels.py": ""},
        {"engine.py": "import kernels"},
    ),
    "LAY003": (
        {"forbidden": [{"name": "light", "from": ["cli"], "to": ["torch"]}]},
        {"cli.py": "import engine", "engine.py": "import torch.nn"},
        {"engine.py": "import torchvision"},
    ),
    "LAY004": (
        {"acyclic": [{"name": "parts", "within": "app"}]},
        {
            "app/__init__.py": "",
            "app/a/__init__.py": "",
            "app/a/x.py": "def run():\n    from app.b import y",
            "app/b/__init__.py": "",
            "app/b/y.py": "from app.a import x",
        },
        {"app/b/y.py": "from app.b import x"},
    ),
    "LAY005": (
        {"protected": [{"name": "native", "modules": ["native"], "importers": ["kernels"]}]},
        {"native.py": "", "kernels.py": "import native", "models.py": "import native"},
        {"models.py": "import kernels"},
    ),
    "LAY101": (
        {"coupling": [{"kind": "family", "pattern": "llama", "owners": ["models"]}]},
        {"models/llama.py": "llama = 1", "engine.py": "run(llama)"},
        {"engine.py": "run(model)  # llama"},
    ),
    "LAY201": (
        {"shape": {"max-function-lines": 3}},
        {"a.py": "def f():\n    a()\n    b()\n    c()\n"},
        {"a.py": "def f():\n    a()\n    b()\n\n\nc()\n"},
    ),
    "LAY202": ({"shape": {"max-file-lines": 3}}, {"a.py": "a\nb\nc\nd\n"}, {"a.py": "a\nb\nc\n"}),
    "LAY203": (
        {"shape": {"private-access": True}},
        {"a.py": "import b\nb._lock", "b.py": ""},
        {"a.py": "import b\nb.lock", "b.py": ""},
    ),
    "LAY204": (
        {"shape": {"cycles": True}},
        {"a.py": "import b", "b.py": "import a"},
        {"b.py": "def late():\n    import a"},
    ),
}


def test_every_rule_has_a_fixture() -> None:
    assert {rule.code for rule in RULES} == set(FIXTURES)


@pytest.mark.parametrize("code", FIXTURES)
def test_exactly_this_rule_breaks(code: str, analyse_tree: Any) -> None:
    settings, broken, _ = FIXTURES[code]
    assert {finding.rule for finding in analyse_tree(broken, **settings)} == {code}


@pytest.mark.parametrize("code", FIXTURES)
def test_the_repaired_tree_is_clean(code: str, analyse_tree: Any) -> None:
    settings, broken, repair = FIXTURES[code]
    assert analyse_tree(broken | repair, **settings) == []


@pytest.mark.parametrize("code", FIXTURES)
def test_a_finding_says_where_it_stands_and_what_to_do(code: str, analyse_tree: Any) -> None:
    settings, broken, _ = FIXTURES[code]
    for finding in analyse_tree(broken, **settings):
        assert finding.path in broken
        assert 0 <= finding.line <= broken[finding.path].count("\n") + 1
        assert finding.subject
        assert finding.message
        assert finding.hint


def test_pages_are_complete_and_names_unique() -> None:
    assert all(all((rule.what, rule.why, rule.bad, rule.good, rule.fix)) for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)
