"""What needs a card is tested where there is one, and only there."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]
GPU_TESTS = ROOT / "tests/gpu"
Name = tuple[str, str]


def launchers() -> Iterator[Name]:
    """(module, function) of everything that launches a compiled kernel: read, not imported."""
    for path in sorted(ROOT.glob("runtime/kernels/*/*.py")):
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        names = {node.name for node in functions if not node.decorator_list and not node.name.startswith("_")}
        if "variants" in names:
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield from ((module, name) for name in sorted(names - {"variants"}))


def imported_by_gpu_tests() -> set[Name]:
    trees = [ast.parse(path.read_text()) for path in GPU_TESTS.glob("test_*.py")]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {(node.module or "", alias.name) for node in imports for alias in node.names}


def test_every_launcher_is_run_on_a_card() -> None:
    found = set(launchers())
    assert ("runtime.kernels.triton.gemv", "product") in found
    assert found <= imported_by_gpu_tests()


def test_collecting_them_imports_no_kernel() -> None:
    """A test of a card imports kernels when it runs, since collecting it must be cheap and possible anywhere."""
    for path in GPU_TESTS.glob("*.py"):
        at_import = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
        modules = {node.module or "" for node in at_import}
        assert not {
            module for module in modules if module.startswith(("triton", "runtime.kernels.triton", "runtime.native"))
        }


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_all_skip_for_one_reason() -> None:
    command = [sys.executable, "-m", "pytest", str(GPU_TESTS), "-q", "-rs", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    reasons = {line.rpartition(": ")[2] for line in run.stdout.splitlines() if line.startswith("SKIPPED")}
    assert run.returncode == 0, run.stdout
    assert reasons == {"needs a CUDA device"}
    assert "passed" not in run.stdout
