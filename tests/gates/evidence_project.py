"""A small project with everything that a row of evidence must name, and what its author runs."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from analyzers.evidence.body import COLUMNS
from gates.cli import cli

SETTINGS = """
[[routes.tables]]
name = "attention"
symbol = "app.routes.ROUTES"
stage = "stage"
fallback = "fallback"
format = "codec"
conditions = [
    { field = "stage", test = "one-of", wildcard = "any" },
    { field = "codecs", test = "one-of", axis = "codec" },
    { field = "alignment", test = "multiple-of", axis = "rows" },
]

[routes.tables.matrix]
stage = ["decode"]
codec = ["fp16", "bf16"]
rows = [16, 17]

[config]
roots = ["app.config.Root"]

[env]
prefixes = ["X_"]
reference = ""

[[env.registries]]
files = ["app/envs.py"]
symbol = "R"

[evidence]
kernels = ["app/kernels"]
devices = { V100 = '(?i)\\b(?:v100|sm_?70)\\b' }
"""
ROUTES = """from typing import NamedTuple


class Route(NamedTuple):
    name: str
    stage: str
    codecs: tuple = ()
    alignment: int = 1
    fallback: str | None = None


ROUTES = (
    Route("flash", "decode", ("fp16",), 16, "reference"),
    Route("reference", "any"),
)
"""
PROJECT = {
    "gates.toml": SETTINGS,
    "README.md": "# App\n",
    "app/routes.py": ROUTES,
    "app/config.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Root:\n    size: int = 16\n",
    "app/envs.py": "import os\n\nR = {'X_PORT': lambda: os.getenv('X_PORT', '80')}\n",
    "app/kernels/decode.cu": "// 1\n",
    "app/engine.py": "def step():\n    return 1\n",
    "baselines/docs.json": '{"version": 1}\n',
}
HEAD = f"## Evidence\n\n| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|\n"


def run(root: Path, *arguments: str, text: str | None = None) -> Result:
    given = ["evidence", "--root", str(root), "--base", "HEAD", *arguments]
    return CliRunner().invoke(cli, given, input=text, standalone_mode=False)


def draft(root: Path) -> str:
    done = run(root, "--draft")
    assert done.return_value == 0, done.exception
    return done.stdout


def verdict(root: Path, text: str) -> list[str]:
    """The rules that a description breaks, each as often as it does."""
    done = run(root, "--body", "-", "--format", "json", text=text)
    report = json.loads(done.stdout)
    found = [finding["rule"] for finding in report["findings"]]
    assert done.return_value == bool(found)
    return found


def row(path: str, evidence: str = "static plan", artifact: str = "none", conditions: str = "rows 16") -> str:
    return f"| {path} | fp16 | {conditions} | flash, else reference | {evidence} | {artifact} | none |\n"
