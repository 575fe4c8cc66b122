"""What a user gets from the wheel: the four packages, their data, and a base install without torch."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement

import gates

ROOT = Path(__file__).parents[1]
PACKAGES = ("analyzers", "gates", "reports", "runtime")
RUNTIME_ONLY = {"torch", "triton", "numpy", "safetensors", "tokenizers", "jinja2"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    with zipfile.ZipFile(next(folder.glob("voltgate-*.whl"))) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def requirements(metadata: Message, extra: str) -> set[str]:
    """Names of what is installed with `extra`; an empty extra means the base install."""
    wanted = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    return {r.name for r in wanted if r.marker is None or r.marker.evaluate({"extra": extra})}


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {PurePosixPath(name).parts[0] for name in wheel.namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_every_source_file_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    sources = {
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    assert sources <= set(wheel.namelist())


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(wheel: zipfile.ZipFile, package: str) -> None:
    assert f"{package}/py.typed" in wheel.namelist()


def test_the_wheel_carries_its_licence(wheel: zipfile.ZipFile, metadata: Message) -> None:
    text = next(wheel.read(name) for name in wheel.namelist() if name.endswith("/LICENSE"))

    assert metadata["License-Expression"] == "Apache-2.0"
    assert text == (ROOT / "LICENSE").read_bytes()


def test_the_command_is_installed(wheel: zipfile.ZipFile) -> None:
    entry_points = next(name for name in wheel.namelist() if name.endswith("/entry_points.txt"))

    assert "gates = gates.cli:main" in wheel.read(entry_points).decode().splitlines()


def test_the_version_is_the_one_that_the_command_prints(metadata: Message) -> None:
    assert metadata["Version"] == gates.__version__


def test_the_base_install_is_torch_free(metadata: Message) -> None:
    assert not requirements(metadata, "") & RUNTIME_ONLY


@pytest.mark.parametrize("extra", ["runtime", "v100", "dev"])
def test_an_extra_brings_torch(metadata: Message, extra: str) -> None:
    assert "torch" in requirements(metadata, extra)


@pytest.mark.parametrize("extra", ["test", "lint"])
def test_the_tools_of_a_contributor_are_torch_free(metadata: Message, extra: str) -> None:
    assert not requirements(metadata, extra) & RUNTIME_ONLY
