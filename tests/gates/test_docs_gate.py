"""The docs gate on real repositories: roots in a subfolder, submodules, settings that do not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sample_project import commit, write

SETTINGS = '[docs]\nmaintained = ["README.md"]\n'


def docs(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "gates", "docs", "--no-cache", "--root", str(root), *arguments)
    return subprocess.run(command, capture_output=True, text=True)


def broken(root: Path, *arguments: str) -> list[tuple[str, str]]:
    found = json.loads(docs(root, "--format", "json", *arguments).stdout)["findings"]
    return [(finding["rule"], finding["message"].split('"')[1]) for finding in found]


@pytest.mark.parametrize("arguments", [(), ("--staged",), ("--ref", "HEAD")], ids=["disk", "staged", "ref"])
def test_a_root_in_a_subfolder_knows_the_rest_of_its_repository(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    root = tmp_path / "one"
    links = "[a](../LICENSE) [b](../two/) [c](..) [d](/LICENSE) [e](../gone) [f](../../LICENSE) [g](../../../issues)"
    write(tmp_path, {"LICENSE": "", "two/b.md": "", "one/gates.toml": SETTINGS, "one/README.md": links})
    commit(tmp_path, "first", init=True)
    assert broken(root, *arguments) == [("DOC001", "../gone"), ("DOC005", "../../LICENSE")]


@pytest.mark.parametrize("arguments", [(), ("--staged",), ("--ref", "HEAD")], ids=["disk", "staged", "ref"])
def test_a_submodule_may_be_linked_to(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    library, root = tmp_path / "library", tmp_path / "main"
    write(library, {"a.md": ""})
    commit(library, "first", init=True)
    write(root, {"gates.toml": SETTINGS, "README.md": "[a](lib) [b](lib/a.md#any) [c](lib/deep/) [d](libs/a.md)"})
    commit(root, "first", init=True)
    allow = ("-c", "protocol.file.allow=always")
    subprocess.run(("git", *allow, "submodule", "--quiet", "add", str(library), "lib"), cwd=root, check=True)
    commit(root, "second")
    assert broken(root, *arguments) == [("DOC001", "libs/a.md")]


def test_without_a_repository_everything_above_the_root_is_outside(tmp_path: Path) -> None:
    write(tmp_path, {"b.md": "", "one/gates.toml": SETTINGS, "one/README.md": "[a](../b.md) [b](b%00.md)"})
    assert broken(tmp_path / "one") == [("DOC005", "../b.md"), ("DOC001", "b%00.md")]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            SETTINGS + '[docs.folders."handbok"]\ndialect = "mkdocs"\n',
            "gates.toml:3: docs.folders.handbok: there is no folder 'handbok'; did you mean `handbook`?",
        ),
        (
            '[docs]\nmaintained = ["README.md", "a\\u0000.md"]\n',
            "gates.toml:2: docs.maintained[1]: must not hold a NUL character",
        ),
    ],
)
def test_settings_that_do_not_fit_the_tree_are_refused(tmp_path: Path, settings: str, told: str) -> None:
    write(tmp_path, {"gates.toml": settings, "README.md": "", "handbook/a.md": ""})
    done = docs(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.parametrize("folder", [".", "handbook", "./handbook/"])
def test_a_folder_of_the_tree_may_have_settings(tmp_path: Path, folder: str) -> None:
    settings = f'{SETTINGS}[docs.folders."{folder}"]\ndialect = "mkdocs"\n'
    write(tmp_path, {"gates.toml": settings, "README.md": "", "handbook/a.md": ""})
    assert docs(tmp_path).returncode == 0
