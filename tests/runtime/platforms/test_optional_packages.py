"""Optional packages are found without being imported, and what is missing says how to get it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from runtime.platforms.packages import NVRTC_INSTALL, TRITON, Package, missing_packages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A package that fails when it is imported."""
    folder = tmp_path / "volatile_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    return Package("volatile_package", "pip install volatile")


def test_a_package_is_found_where_it_lies_and_not_imported(package: Package, tmp_path: Path) -> None:
    assert package.folder() == tmp_path / "volatile_package"
    assert package.refusal() is None
    assert "volatile_package" not in sys.modules


def test_a_package_that_is_not_here_names_the_remedy() -> None:
    absent = Package("no_such_package", "pip install such")
    assert absent.folder() is None
    assert absent.refusal() == "it is not installed; run `pip install such`"


def test_what_kernels_lack_is_told_by_module(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.platforms.packages.TRITON", package)
    assert missing_packages() == ()
    monkeypatch.setattr("runtime.platforms.packages.TRITON", Package("no_such_package", "pip install such"))
    assert missing_packages() == (("no_such_package", "it is not installed; run `pip install such`"),)


@pytest.mark.parametrize("command", [TRITON.install, NVRTC_INSTALL])
def test_a_remedy_is_one_package_in_the_version_that_the_extras_pin(command: str) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert command.removeprefix("pip install ") in {*extras["v100"], *extras["dev"]}


def test_looking_for_packages_imports_neither_torch_nor_triton() -> None:
    program = (
        "import sys; from runtime.platforms.packages import missing_packages; missing_packages();"
        "sys.exit(any(name in sys.modules for name in ('torch', 'triton')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
