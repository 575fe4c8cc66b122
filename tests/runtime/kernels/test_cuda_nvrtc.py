"""The cache of compiled kernels, and what is said where nothing can be compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import KernelError
from runtime.kernels.cuda import nvrtc
from runtime.kernels.cuda.nvrtc import CubinCompiler
from runtime.kernels.variants import CudaVariant
from runtime.platforms.nvrtc import find_nvrtc
from runtime.platforms.packages import NVRTC_INSTALL


class CountingCompiler:
    """In the place of NVRTC: what it compiles says what it was asked for."""

    def __init__(self) -> None:
        self.version = "12.8"
        self.capabilities = frozenset({(7, 0), (8, 0)})
        self.compiled = 0

    def compile(self, source: Path, options: tuple[str, ...]) -> bytes:
        self.compiled += 1
        return repr((source.read_text(), options)).encode()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> CountingCompiler:
    library = CountingCompiler()
    monkeypatch.setattr(nvrtc, "load_nvrtc", lambda: library)
    return library


@pytest.fixture
def compiler(tmp_path: Path) -> CubinCompiler:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "kernel.cu").write_text("kernel")
    (sources / "header.cuh").write_text("header")
    return CubinCompiler(tmp_path / "cache" / "cubins", sources)


def variant(width: int = 64, shared_bytes: int = 0) -> CudaVariant:
    return CudaVariant(
        name="kernel", source="kernel.cu", entry="kernel", defines={"W": width}, threads=32, shared_bytes=shared_bytes
    )


def test_a_variant_is_compiled_once(library: CountingCompiler, compiler: CubinCompiler) -> None:
    first = compiler(variant(), (7, 0))
    again = CubinCompiler(compiler.cache, compiler.sources)(variant(), (7, 0))
    assert (first, library.compiled) == (again, 1)
    assert b"--gpu-architecture=sm_70" in first
    assert b"--define-macro=W=64" in first


@pytest.mark.parametrize("change", ["constant", "shared memory", "capability", "source", "header", "compiler"])
def test_whatever_the_code_depends_on_compiles_it_again(
    library: CountingCompiler, compiler: CubinCompiler, change: str
) -> None:
    compiler(variant(), (7, 0))
    if change in ("source", "header"):
        (compiler.sources / ("kernel.cu" if change == "source" else "header.cuh")).write_text("changed")
    if change == "compiler":
        library.version = "12.9"
    compiler(
        variant(128 if change == "constant" else 64, 16 if change == "shared memory" else 0),
        (8, 0) if change == "capability" else (7, 0),
    )
    assert library.compiled == 2


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 4096])
def test_a_damaged_entry_is_compiled_again(library: CountingCompiler, compiler: CubinCompiler, damage: bytes) -> None:
    good = compiler(variant(), (7, 0))
    assert compiler.cache is not None
    [entry] = compiler.cache.iterdir()
    entry.write_bytes(damage)
    assert compiler(variant(), (7, 0)) == good
    assert compiler(variant(), (7, 0)) == good
    assert library.compiled == 2


def test_a_cache_that_cannot_be_written_costs_a_compilation(
    library: CountingCompiler, compiler: CubinCompiler, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert compiler(variant(), (7, 0)) == compiler(variant(), (7, 0))
    assert library.compiled == 2


def test_nothing_is_kept_without_a_cache(library: CountingCompiler, compiler: CubinCompiler) -> None:
    uncached = CubinCompiler(None, compiler.sources)
    assert uncached(variant(), (7, 0)) == uncached(variant(), (7, 0))
    assert library.compiled == 2


def test_a_compiler_that_is_too_new_names_the_remedy(library: CountingCompiler, compiler: CubinCompiler) -> None:
    library.capabilities = frozenset({(8, 0)})
    with pytest.raises(KernelError, match=r"kernel: NVRTC 12\.8 cannot compile .* 7\.0; run `pip install nvidia-cuda"):
        compiler(variant(), (7, 0))


def test_a_missing_compiler_names_the_remedy(monkeypatch: pytest.MonkeyPatch, compiler: CubinCompiler) -> None:
    monkeypatch.setattr(nvrtc, "find_nvrtc", lambda: None)
    nvrtc.load_nvrtc.cache_clear()
    with pytest.raises(KernelError, match="there is none here; run `pip install nvidia-cuda-nvrtc-cu12"):
        compiler(variant(), (7, 0))


def test_a_mistake_in_a_kernel_is_told_with_file_and_line(compiler: CubinCompiler) -> None:
    if find_nvrtc() is None:
        pytest.skip(f"NVRTC is not installed: run `{NVRTC_INSTALL}`")
    nvrtc.load_nvrtc.cache_clear()
    (compiler.sources / "kernel.cu").write_text("__global__ void kernel() {\n  int x = nothing;\n}\n")
    with pytest.raises(KernelError, match=r'kernel\.cu\(2\): error: identifier "nothing" is undefined'):
        compiler(variant(), (7, 0))
    (compiler.sources / "kernel.cu").write_text('extern "C" __global__ void kernel(int* x) { *x = W; }\n')
    assert compiler(variant(), (7, 0)).startswith(b"\x7fELF")
