"""A small project with both gates configured, and what tests do to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Gates = Callable[..., "subprocess.CompletedProcess[str]"]

SETTINGS = """
[[layering.layers]]
name = "house"
order = ["app.cli", "app.core"]

[[layering.forbidden]]
name = "torch-free"
from = ["app"]
to = ["torch"]

[docs]
maintained = ["README.md"]
"""

FILES = {
    "gates.toml": SETTINGS,
    "README.md": "# App\n\nSee [the core](app/core.py).\n",
    "app/__init__.py": "",
    "app/cli.py": "from app import core\n\n\ndef main():\n    core.run()\n",
    "app/core.py": "def run():\n    return 1\n",
}

UPWARD = "from app import cli\n\n\ndef run():\n    return cli\n"


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def commit(root: Path, message: str, *, init: bool = False) -> None:
    if init:
        subprocess.run(("git", "init", "-q", "-b", "main"), cwd=root, check=True)
    subprocess.run(("git", "add", "-A"), cwd=root, check=True)
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    subprocess.run(("git", *identity, "commit", "-q", "-m", message), cwd=root, check=True)


def rules_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [finding["rule"] for finding in json.loads(done.stdout)["findings"]]


def break_layers(project: Path) -> None:
    write(project, {"app/core.py": UPWARD})


def waiver(rule: str, scope: str, expires: str) -> str:
    signed = 'owner = "ana"\nreason = "next release"'
    return f'[[waivers]]\nrule = "{rule}"\nscope = "{scope}"\n{signed}\nexpires = {expires}\n\n'
