"""The published hooks, run by the real pre-commit in a repository that only knows this one's address."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOOKS = (
    "gates check",
    "gates layering",
    "gates docs",
    "gates config",
    "gates env",
    "gates routes",
    "gates reference",
)

SETTINGS = """\
[docs]
maintained = ["README.md"]

[[layering.layers]]
name = "shop"
within = "shop"
order = ["counter", "store"]

[config]
roots = ["shop.settings.Shop"]
packages = ["shop.settings"]

[env]
prefixes = ["SHOP_"]
reference = ""

[[env.registries]]
files = ["shop/settings.py"]
symbol = "VARIABLES"

[[routes.tables]]
name = "ways"
symbol = "shop.ways.WAYS"

[reference]
page = "REFERENCE.md"
title = "Reference"

[[reference.sections]]
heading = "Ways"
symbol = "shop.ways.WAYS"
"""

SHOP = """\
from dataclasses import dataclass

VARIABLES = {"SHOP_TILL": int}


@dataclass
class Shop:
    till: int = 0
    unread: int = 0
"""
TILL = """\
import os

from shop.settings import Shop


def till(shop: Shop) -> int:
    return shop.till + int(os.environ["SHOP_TILL"])
"""
WAYS = """\
from dataclasses import dataclass


@dataclass
class Way:
    name: str


WAYS = (Way("door"),)
"""

BROKEN = {
    "README.md": "# Shop\n\nRead [the guide](GUIDE.md).\n",
    "shop/store.py": "from shop import counter\n",
    "shop/settings.py": SHOP,
    "shop/till.py": TILL.replace("SHOP_TILL", "SHOP_TIL"),
    "shop/ways.py": WAYS.replace('Way("door"),', 'Way("door"), Way("door")'),
}
FIXED = {
    "README.md": "# Shop\n\nRead [the counter](shop/counter.py).\n",
    "shop/store.py": "from shop import shelf\n",
    "shop/settings.py": SHOP.replace("    unread: int = 0\n", ""),
    "shop/till.py": TILL,
    "shop/ways.py": WAYS,
}
COMMON = {
    "gates.toml": SETTINGS,
    "shop/__init__.py": "",
    "shop/counter.py": "from shop import store\n",
    "shop/shelf.py": "",
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit_all(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "as it stands")


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as it stands, committed to a repository of its own: what a clone of the next commit holds."""
    folder = tmp_path_factory.mktemp("published")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    commit_all(folder)
    return folder


@pytest.fixture(scope="module")
def pip_cache() -> str:
    """The user's own, asked for before any test sets XDG_CACHE_HOME: nothing is to be downloaded twice."""
    return subprocess.check_output([sys.executable, "-m", "pip", "cache", "dir"], text=True).strip()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    write(folder, COMMON)
    return folder


def try_hooks(published: Path, scratch: Path, pip_cache: str) -> subprocess.CompletedProcess[str]:
    commit_all(scratch)
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(published), "--all-files", "--color=never"],
        cwd=scratch,
        env={
            **os.environ,
            "PRE_COMMIT_HOME": str(scratch.parent / "pre-commit"),
            "PIP_CACHE_DIR": pip_cache,
            # Each call installs the suite anew; compiling all of its dependencies would take most of the time.
            "PIP_COMPILE": "0",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def verdicts(output: str) -> dict[str, str]:
    """What pre-commit printed after the dots behind each hook's name."""
    lines = [line for line in output.splitlines() if line.startswith(HOOKS)]
    return {line.partition("...")[0]: line.rpartition(".")[2] for line in lines}


def test_the_hooks_fail_on_a_broken_tree(published: Path, scratch: Path, pip_cache: str) -> None:
    write(scratch, BROKEN)

    result = try_hooks(published, scratch, pip_cache)

    assert verdicts(result.stdout) == dict.fromkeys(HOOKS, "Failed"), result.stdout + result.stderr
    assert "README.md:3:6" in result.stdout
    assert "shop/store.py:1" in result.stdout


def test_the_hooks_pass_on_the_tree_put_right(published: Path, scratch: Path, pip_cache: str) -> None:
    write(scratch, FIXED)
    subprocess.run([sys.executable, "-m", "gates", "reference", "--write"], cwd=scratch, check=True)

    result = try_hooks(published, scratch, pip_cache)

    assert verdicts(result.stdout) == dict.fromkeys(HOOKS, "Passed"), result.stdout + result.stderr
