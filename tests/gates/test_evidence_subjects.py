"""What `gates evidence` takes for a change of a setting, a variable or a route, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_project import HEAD, PROJECT, ROUTES, SETTINGS, draft, row, run, verdict
from sample_project import commit, write

TABLES = f"""{SETTINGS}
[[config.aliases]]
table = "app.envs.ALIASES"
"""
ENVS = """import os

R = {
    "X_PORT": {"default": 80, "description": "a port", "owner": "ana"},
    "X_HOST": {"default": "::", "description": "a host", "owner": "ana"},
}
ALIASES = {"X_PORT": "size"}
os.getenv("HOME")
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(tmp_path, {**PROJECT, "gates.toml": TABLES, "app/envs.py": ENVS})
    commit(tmp_path, "first", init=True)
    return tmp_path


def named(root: Path) -> list[str]:
    """What a draft names, row by row."""
    return [line.split(" | ")[0].removeprefix("| ") for line in draft(root).splitlines()[4:]]


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ("a port", "the port", []),
        ('"owner": "ana"', '"owner": "bob"', ["`X_PORT`"]),
        ("80", "81", ["`X_PORT`"]),
        ("HOME", "PATH", []),
        ("HOME", "X_HOME", ["`X_HOME`"]),
        ('"size"', '"depth"', ["`size`"]),
    ],
)
def test_a_variable_is_what_its_registry_states_but_for_its_description(
    repository: Path, was: str, now: str, expected: list[str]
) -> None:
    write(repository, {"app/envs.py": ENVS.replace(was, now, 1)})

    assert named(repository) == (expected or ["`app/envs.py`"])


@pytest.mark.parametrize(
    ("was", "now"), [("int = 16", "float = 16"), ("= 16", "= field(default=16, metadata={'diagnostic': True})")]
)
def test_a_setting_is_its_type_its_default_and_its_mark(repository: Path, was: str, now: str) -> None:
    write(repository, {"app/config.py": PROJECT["app/config.py"].replace(was, now)})

    assert named(repository) == ["`size`"]


def test_a_setting_that_changes_its_owner_is_two_changes(repository: Path) -> None:
    split = "@dataclass\nclass Cache:\n    size: int = 16\n\n\n@dataclass\nclass Root:\n    cache: Cache\n"
    write(repository, {"app/config.py": f"from dataclasses import dataclass\n\n\n{split}"})

    assert named(repository) == ["`size`, `cache`, `cache.size`"]
    assert verdict(repository, HEAD + row("`size`, `cache`")) == []


def test_several_roots_stand_before_their_settings(repository: Path) -> None:
    write(repository, {"gates.toml": TABLES.replace('"app.config.Root"', '"app.config.Root", "app.config.Other"')})
    config = PROJECT["app/config.py"] + "\n\n@dataclass\nclass Other:\n    size: int = 1\n"
    write(repository, {"app/config.py": config})
    commit(repository, "two roots")
    write(repository, {"app/config.py": config.replace("= 1\n", "= 2\n")})

    assert named(repository) == ["`Other.size`"]


def test_a_draft_leaves_out_what_refuses_nothing(repository: Path) -> None:
    write(repository, {"app/routes.py": ROUTES.replace('"reference", "any"', '"plain", "any"')})
    rows = draft(repository).splitlines()[4:]

    assert [line.split(" | ")[:4] for line in rows] == [
        ["| `attention/reference`", "`any`", "TODO: shape, TP and EP, graph", "removed; in all 3 calls of the plan"],
        ["| `attention/plain`", "`any`", "TODO: shape, TP and EP, graph", "added; in all 3 calls of the plan"],
    ]


def test_a_folder_below_the_repository_is_a_tree_of_its_own(repository: Path) -> None:
    inner = repository / "inner"
    write(inner, PROJECT)
    commit(repository, "inner")
    write(inner, {"app/kernels/decode.cu": "// 2\n"})
    write(repository, {"app/engine.py": "x = 2\n"})

    assert named(inner) == ["`app/kernels/decode.cu`"]
    assert "Compared with" in run(inner, "--body", "-", text=HEAD + row("app/kernels")).stdout
    assert verdict(inner, HEAD + row("app/kernels")) == ["EVD009"]
