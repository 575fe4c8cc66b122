"""Settings that the tree contradicts, and the name that was probably meant."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy
from analyzers.layering.policy_check import check_policy

PATHS = ["docs/a.md", "app/__init__.py", "app/cli.py", "app/engine/run.py", "app/kernels.py", "tools/x.py"]


def layers(*order: str, within: str = "app") -> dict[str, Any]:
    return {"layers": [{"name": "l", "order": order, "within": within}]}


def coupling(**settings: Any) -> dict[str, Any]:
    return {"coupling": [{"kind": "k", "pattern": "k", **settings}]}


@pytest.mark.parametrize(
    ("settings", "key", "value", "nearest"),
    [
        (layers("cli", "engin"), "layering.layers[0].order[1]", "engin", "engine"),
        (layers("cli", "engine | kernel"), "layering.layers[0].order[1]", "kernel", "kernels"),
        (layers("cli", "engine", within="ap"), "layering.layers[0].within", "ap", "app"),
        (layers("cli", "engine", "cli"), "layering.layers[0].order", "app.cli", ""),
        (layers("cli", "engine | kernels : cli"), "layering.layers[0].order[1]", "engine | kernels : cli", ""),
        (layers("cli", "engine |"), "layering.layers[0].order[1]", "engine |", ""),
        (
            {"forbidden": [{"name": "f", "from": ["app.cly"], "to": ["torch"]}]},
            "layering.forbidden[0].from[0]",
            "app.cly",
            "app.cli",
        ),
        (
            {"forbidden": [{"name": "f", "from": ["app"], "to": ["torch", "tools.y"]}]},
            "layering.forbidden[0].to[1]",
            "tools.y",
            "tools.x",
        ),
        (
            {"forbidden": [{"name": "f", "from": ["app"], "to": ["torch"], "except": [["app.x", "torch"]]}]},
            "layering.forbidden[0].except[0][0]",
            "app.x",
            "app.cli",
        ),
        ({"acyclic": [{"name": "a", "within": "apq"}]}, "layering.acyclic[0].within", "apq", "app"),
        (
            {"protected": [{"name": "p", "modules": ["app.kernels"], "importers": ["app.engines"]}]},
            "layering.protected[0].importers[0]",
            "app.engines",
            "app.engine",
        ),
        (
            {"acyclic": [{"name": "a", "within": "app"}, {"name": "a", "within": ""}]},
            "layering.acyclic[1].name",
            "a",
            "",
        ),
        (
            {"forbidden": [{"name": "f", "from": ["run"], "to": ["torch"]}]},
            "layering.forbidden[0].from[0]",
            "run",
            "app.engine.run",
        ),
        (layers("cli", "run"), "layering.layers[0].order[1]", "run", "engine.run"),
        (coupling(files=["ap/**/*.py"]), "layering.coupling[0].files", "ap/**/*.py", "app/**/*.py"),
        (coupling(files=["app/engin"]), "layering.coupling[0].files", "app/engin", "app/engine"),
        (coupling(files=["zzzz/*.py", "*.rst"]), "layering.coupling[0].files", "zzzz/*.py, *.rst", ""),
        (coupling(files=[]), "layering.coupling[0].files", "", ""),
        (coupling(files=["docs"]), "layering.coupling[0].files", "docs", ""),
        (coupling(files=["app"], owners=["app/**"]), "layering.coupling[0].owners", "app/**", ""),
    ],
)
def test_a_setting_that_cannot_be_meant(settings: dict[str, Any], key: str, value: str, nearest: str) -> None:
    problems = check_policy(convert(settings, LayeringPolicy), Modules(PATHS), PATHS)
    assert (problems[0].key, problems[0].value, problems[0].nearest) == (key, value, nearest)
    assert problems[0].message


@pytest.mark.parametrize(
    "settings",
    [
        {},
        layers("cli", "engine | kernels"),
        layers("app.cli : tools", "app.*.run", within=""),
        {"forbidden": [{"name": "f", "from": ["*"], "to": ["torch.nn", "app"], "except": [["app.cli", "jax"]]}]},
        {"protected": [{"name": "p", "modules": ["triton", "app.kernels"], "importers": []}]},
        {"acyclic": [{"name": "a", "within": ""}]},
        coupling(),
        coupling(files=["docs"], scope="text"),
        coupling(files=["app", "none"], owners=["app/cli.py"]),
    ],
)
def test_settings_that_fit_the_tree(settings: dict[str, Any]) -> None:
    assert check_policy(convert(settings, LayeringPolicy), Modules(PATHS), PATHS) == []
