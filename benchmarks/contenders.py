"""What is compared: each tool's command line on a tree, and where the tool comes from."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.timing import Command
from benchmarks.trees import CACHE

_SETTINGS = Path(__file__).parent / "sglang"
_OTHERS = ("import-linter==2.17", "tach==0.35.3")
_TOOLS = CACHE / "tools"
_SUITE = Path(sys.executable).with_name("gates")
_FINDINGS = (0, 1)
"""Exit statuses of a linter that did its work: nothing found, something found."""
_AS_INSTALLED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Pip leaves bytecode beside what it installs, and so it did for the other tools. A machine that forbids Python to
write any would have the suite compiled again by each run."""


def install_others() -> None:
    """Put the other tools into an environment of their own, once."""
    stamp = _TOOLS / ".installed"
    if stamp.is_file() and stamp.read_text() == "\n".join(_OTHERS):
        return
    venv.create(_TOOLS, clear=True, with_pip=True)
    subprocess.run([_TOOLS / "bin" / "python", "-m", "pip", "install", "-qq", *_OTHERS], check=True)
    stamp.write_text("\n".join(_OTHERS))


def versions() -> str:
    others = [requirement.replace("==", " ") for requirement in _OTHERS]
    return ", ".join([f"voltgate {version('voltgate')}", *others, f"ruff {version('ruff')}"])


def write_settings(tree: Path) -> None:
    """Put the settings into the tree, for the tools that read them only from there."""
    for name in ("gates.toml", "tach.toml"):
        shutil.copy(_SETTINGS / name, tree)


def write_settings_of_every_gate(tree: Path) -> None:
    """Put the settings into the tree that ask for every gate."""
    parts = [(_SETTINGS / name).read_text() for name in ("gates.toml", "further-gates.toml")]
    (tree / "gates.toml").write_text("\n".join(parts))


def yardstick(tree: Path) -> Command:
    """`ast.parse` of every file, in a fresh interpreter."""
    return Command([sys.executable, str(Path(__file__).with_name("yardstick.py")), str(tree)], tree, {})


def import_linter(tree: Path) -> Command:
    program, contracts = _TOOLS / "bin" / "lint-imports", _SETTINGS / "importlinter.toml"
    return Command([str(program), "--no-cache", "--no-logo", str(contracts)], tree, {}, _FINDINGS)


def tach(tree: Path) -> Command:
    return Command([str(_TOOLS / "bin" / "tach"), "check"], tree, {}, _FINDINGS)


@dataclass(frozen=True)
class Suite:
    """This suite, on one tree with one cache folder."""

    tree: Path
    cache: Path

    def command(self, name: str, *options: str) -> Command:
        argv = [str(_SUITE), name, "--root", str(self.tree), *options]
        return Command(argv, self.tree, {"XDG_CACHE_HOME": str(self.cache), **_AS_INSTALLED}, _FINDINGS)


def print_version() -> Command:
    return Command([str(_SUITE), "--version"], Path.cwd(), _AS_INSTALLED)
