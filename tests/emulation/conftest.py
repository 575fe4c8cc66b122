"""The emulated device; tests skip where there is no g++."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from emulator import Emulator

from runtime.kernels.cuda.nvrtc import SOURCES


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where kernels are built, once a session."""
    if shutil.which("g++") is None:
        pytest.skip("the emulator needs g++: install it")
    return tmp_path_factory.mktemp("emulated")


@pytest.fixture
def device(build_folder: Path) -> Emulator:
    """Runs the kernels of the runtime."""
    return Emulator(SOURCES, build_folder)


@pytest.fixture
def probes(build_folder: Path) -> Emulator:
    """Runs the small kernels that test the emulator itself."""
    return Emulator(Path(__file__).parent / "probes", build_folder)
