"""`v100 kernels build`: what it writes is what an engine opens. Compiling itself is tested with the kernels."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from v100_types import V100

from runtime.errors import KernelError
from runtime.native import binary
from runtime.native.binary import open_binary


def test_a_build_is_a_binary_that_opens(v100: V100, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "CubinCompiler", lambda: lambda variant, _capability: variant.name.encode())
    monkeypatch.setattr(binary, "load_nvrtc", lambda: SimpleNamespace(version="12.8"))
    result = v100("kernels", "build", "--output", str(tmp_path / "binary"))
    assert result.exit_code == 0, result.output
    assert "manifest.json says what they were built from" in result.stdout
    assert open_binary(tmp_path / "binary", (7, 0)).identity["compiler"] == "NVRTC 12.8"


def test_without_a_compiler_it_says_how_to_get_one(v100: V100, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise KernelError("CUDA kernels need NVRTC, and there is none here; run `pip install something`")

    monkeypatch.setattr(binary, "load_nvrtc", absent)
    result = v100("kernels", "build", "--output", str(tmp_path / "binary"))
    assert result.exit_code == 2
    assert result.stderr == "error: CUDA kernels need NVRTC, and there is none here; run `pip install something`\n"
    assert not (tmp_path / "binary").exists()


def test_a_folder_that_holds_something_else_is_refused(v100: V100, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    result = v100("kernels", "build", "--output", str(tmp_path))
    assert result.exit_code == 2
    assert "holds notes.txt, which is no part of a binary" in result.stderr


def test_a_file_in_the_folders_place_is_named(v100: V100, tmp_path: Path) -> None:
    (tmp_path / "binary").write_text("")
    result = v100("kernels", "build", "--output", str(tmp_path / "binary"))
    assert result.exit_code == 2
    assert str(tmp_path / "binary") in result.stderr
