"""The guides show commands and settings; both must be real ones."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from gates.cli import cli
from gates.settings.validation import validate

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
COMMAND = re.compile(r"(?:^\$ (?:.* && )?|^- run: |`)(gates (?:[^`&>\n]|\n(?=[a-z-]))+)", re.MULTILINE)
TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    return sorted({" ".join(found.split()) for found in COMMAND.findall(page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("line", sorted({line for page in (*GUIDES, ROOT / "README.md") for line in commands(page)}))
def test_every_command_that_is_shown_exists_with_its_options(line: str) -> None:
    command: click.Command = cli
    options = []
    for word in shlex.split(line)[1:]:
        inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        command = inner or command
        options += [word] if word.startswith("--") else []
    if isinstance(command, click.Group):
        command = command.commands.get("check", command)
    known = {name for parameter in command.params for name in parameter.opts}
    assert command is not cli
    assert set(options) <= known


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_settings_in_a_guide_are_valid(page: Path) -> None:
    for block in TOML.findall(page.read_text(encoding="utf-8")):
        validate(tomllib.loads(block), None)


def test_every_guide_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in GUIDES if f"docs/guides/{page.name}" not in readme] == []
