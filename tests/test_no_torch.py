"""The suite never imports torch, triton or the runtime, and `gates --version` imports next to nothing."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("analyzers", "reports", "gates")

IMPORT_WITHOUT_TORCH = """
import sys
from importlib import import_module

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "triton", "runtime"):
            raise AssertionError(f"an import of {name} was tried")

sys.meta_path.insert(0, Refuse())
for name in sys.argv[1:]:
    import_module(name)
"""

MODULES_OF_VERSION = """
import json, sys
from gates.cli import cli

cli.main(["--version"], standalone_mode=False)
json.dump(sorted(sys.modules), sys.stderr)
"""


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def modules() -> list[str]:
    """Every module of the suite, except the ones that run a program when imported."""
    found = []
    for package in PACKAGES:
        found.append(package)
        found += [info.name for info in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")]
    return [name for name in found if not name.endswith("__main__")]


def test_every_module_imports_where_torch_triton_and_runtime_cannot() -> None:
    result = python(IMPORT_WITHOUT_TORCH, *modules())

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["torch", "triton.language", "runtime.engine"])
def test_the_import_hook_refuses(name: str) -> None:
    result = python(IMPORT_WITHOUT_TORCH, name)

    assert f"an import of {name.partition('.')[0]} was tried" in result.stderr


def test_no_module_is_left_out() -> None:
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        if file.name != "__main__.py"
    }

    assert set(modules()) == files


def test_version_imports_no_heavy_module() -> None:
    result = python(MODULES_OF_VERSION)
    loaded = {name.partition(".")[0] for name in json.loads(result.stderr)}

    assert "click" in loaded
    assert not loaded & {"networkx", "libcst", "astroid", "rich", "grimp", "pydantic"}
