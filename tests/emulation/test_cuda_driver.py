"""What the driver is asked: by a stub in its place, for there may be no device."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from runtime.errors import KernelError
from runtime.kernels.cuda.driver import Driver, load_driver
from runtime.kernels.variants import CudaVariant


def variant(shared_bytes: int = 0) -> CudaVariant:
    return CudaVariant(name="k", source="k.cu", entry="entry", defines={}, threads=96, shared_bytes=shared_bytes)


@pytest.fixture
def stub(build_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    library = build_folder / "stub_driver.so"
    if not library.exists():
        source = Path(__file__).parent / "stub_driver.cpp"
        subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    stub = ctypes.CDLL(str(library))
    stub.read_journal.restype = ctypes.c_char_p
    stub.clear_journal(0)
    load_driver.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: stub)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (7, 0))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0x333))
    yield stub
    load_driver.cache_clear()


def test_a_kernel_is_loaded_once_and_launched_with_its_parameters(stub: ctypes.CDLL) -> None:
    compiled = []
    driver = Driver(lambda variant, capability: compiled.append(capability) or b"image")
    data = torch.zeros(4)
    driver(variant(50000), (2, 3, 4), (data, -5, 0.5))
    launch = f"launch 0x222 grid 2 3 4 block 96 1 1 shared 50000 stream 0x333: {data.data_ptr()} -5 0.5 (nil)"
    assert stub.read_journal().decode().splitlines() == [
        "load image",
        "function entry of 0x111",
        "attribute 8 of 0x222 is 50000",
        "attribute 9 of 0x222 is 100",
        launch,
    ]
    stub.clear_journal(0)
    driver(variant(50000), (2, 3, 4), (data, -5, 0.5))
    assert stub.read_journal().decode().splitlines() == [launch]
    assert compiled == [(7, 0)]


def test_a_failure_is_told_by_function_and_reason(stub: ctypes.CDLL) -> None:
    stub.clear_journal(700)
    with pytest.raises(KernelError, match=r"^cuModuleLoadData failed: out of luck \(700\)$"):
        Driver(lambda variant, capability: b"image")(variant(), (1, 1, 1), (torch.zeros(1), 1, 1.0))


def test_a_machine_without_a_driver_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(name)

    load_driver.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(KernelError, match=r"the NVIDIA driver .* is not installed"):
        load_driver()
