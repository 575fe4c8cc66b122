"""Facts of a machine, read from files and programs that a test can write."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from runtime.platforms.bounded import run_bounded
from runtime.platforms.cpu import available_memory
from runtime.platforms.machine import (
    Card,
    Driver,
    TorchBuild,
    ask_torch,
    examine,
    loaded_driver,
    parse_smi,
    volta_on_bus,
)
from runtime.platforms.nvrtc import find_nvrtc

GOOD_TORCH = """
import types
print("noise on standard output")
__version__ = "2.10.0+cu128"
version = types.SimpleNamespace(cuda="12.8")
card = types.SimpleNamespace(name="Tesla V100-SXM2-32GB", total_memory=34 * 10**9, major=7, minor=0)
cuda = types.SimpleNamespace(
    is_available=lambda: True, device_count=lambda: 1, get_device_properties=lambda index: card
)
"""
GOOD_BUILD = TorchBuild("2.10.0+cu128", "12.8", ("sm_70", "sm_75"))


def fake_torch(folder: Path, source: str) -> list[str]:
    """A torch whose import runs this source."""
    package = folder / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    (package / "_C.py").write_text("def _cuda_getArchFlags(): return 'sm_70 sm_75'\n")
    return [str(folder)]


def test_a_torch_that_works_tells_its_build_and_its_cards(tmp_path: Path) -> None:
    build, cards = ask_torch(fake_torch(tmp_path, GOOD_TORCH), 60)
    assert build == GOOD_BUILD
    assert cards == (Card("Tesla V100-SXM2-32GB", 34 * 10**9, (7, 0)),)


@pytest.mark.parametrize(
    ("source", "failure"),
    [
        ("raise OSError('libcudart.so.12: cannot open')", "ended with status 1: OSError: libcudart.so.12: cannot open"),
        ("import os; os.abort()", "was killed by signal 6"),
        ("import os; os._exit(0)", "said nothing"),
        ("raise SystemExit(3)", "ended with status 3"),
    ],
)
def test_a_torch_that_breaks_tells_how(tmp_path: Path, source: str, failure: str) -> None:
    build, cards = ask_torch(fake_torch(tmp_path, source), 60)
    assert (build.failure, build.architectures, cards) == (failure, (), ())


def test_a_torch_that_hangs_is_given_up(tmp_path: Path) -> None:
    started = time.monotonic()
    build, _ = ask_torch(fake_torch(tmp_path, "import time; time.sleep(120)"), 0.5)
    assert build.failure == "gave no answer in 0.5 s"
    assert time.monotonic() - started < 60


def test_what_torch_said_before_it_crashed_is_kept(tmp_path: Path) -> None:
    crashing = GOOD_TORCH + "\nimport os\ncuda.device_count = os.abort\n"
    build, cards = ask_torch(fake_torch(tmp_path, crashing), 60)
    assert (build.version, build.architectures) == (GOOD_BUILD.version, GOOD_BUILD.architectures)
    assert build.failure == "was killed by signal 6"
    assert cards == ()


def test_the_torch_of_this_machine_is_read() -> None:
    torch = pytest.importorskip("torch")
    machine = examine()
    assert machine.torch.version == torch.__version__
    assert machine.torch.failure == ""
    assert machine.numpy
    assert machine.python == sys.version.split()[0]


def test_a_program_that_leaves_a_child_behind_is_not_waited_for() -> None:
    started = time.monotonic()
    outcome = run_bounded(["/bin/sh", "-c", "sleep 30 & echo done"], 20)
    assert outcome.output == "done\n"
    assert time.monotonic() - started < 20


def test_a_program_that_hangs_is_ended() -> None:
    outcome = run_bounded(["/bin/sh", "-c", "echo $$; exec sleep 120"], 1)
    assert outcome.failure == "gave no answer in 1 s"
    with pytest.raises(ProcessLookupError):
        os.kill(int(outcome.output), 0)


def test_a_program_that_is_not_there_is_a_failure() -> None:
    assert run_bounded(["/nonexistent/tool"], 5).failure == "cannot be started: No such file or directory"


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
            "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n",
            Driver("535.183.01"),
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)\n",
            Driver("580.95.05", open_flavour=True),
        ),
        ("something else\n", None),
    ],
)
def test_the_loaded_driver(tmp_path: Path, text: str, driver: Driver | None) -> None:
    (tmp_path / "version").write_text(text)
    assert loaded_driver(tmp_path / "version") == driver


def test_no_driver_is_loaded_where_there_is_no_such_file(tmp_path: Path) -> None:
    assert loaded_driver(tmp_path / "version") is None


def test_volta_cards_are_found_by_their_pci_identity(tmp_path: Path) -> None:
    for address, vendor, device in [
        ("0000:3b:00.0", "0x10de", "0x1db5"),
        ("0000:3c:00.0", "0x10de", "0x20b0"),
        ("0000:3d:00.0", "0x8086", "0x1db5"),
        ("0000:3e:00.0", "0x10de", "0x1df6"),
        ("0000:3f:00.0", "0x10de", "rubbish"),
    ]:
        (tmp_path / address).mkdir()
        (tmp_path / address / "vendor").write_text(vendor + "\n")
        (tmp_path / address / "device").write_text(device + "\n")
    assert list(volta_on_bus(tmp_path)) == ["0000:3b:00.0", "0000:3e:00.0"]
    assert list(volta_on_bus(tmp_path / "absent")) == []


def test_the_answer_of_nvidia_smi() -> None:
    text = "Tesla V100-SXM2-32GB, 32768, 7.0, 535.183.01\nNVIDIA A100, 40GB, 40960, 8.0, 535.183.01\n"
    assert parse_smi(text) == (
        Driver("535.183.01"),
        (Card("Tesla V100-SXM2-32GB", 2**35, (7, 0)), Card("NVIDIA A100, 40GB", 40960 * 2**20, (8, 0))),
    )
    assert parse_smi("NVIDIA-SMI has failed because it could not communicate with the driver.\n") == (None, ())


def test_nvrtc_is_found_where_pip_puts_it_and_the_oldest_is_taken(tmp_path: Path) -> None:
    for package, name in [
        ("cu13", "libnvrtc.so.13"),
        ("cuda_nvrtc", "libnvrtc.so.12"),
        ("cuda_nvrtc", "libnvrtc-builtins.so.12.8"),
    ]:
        library = tmp_path / "nvidia" / package / "lib" / name
        library.parent.mkdir(parents=True, exist_ok=True)
        library.touch()
    found = find_nvrtc([os.devnull, str(tmp_path)])
    assert found is not None
    assert (found.major, Path(found.location).name) == (12, "libnvrtc.so.12")


def test_nvrtc_of_the_system_is_the_second_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", {"nvrtc": "libnvrtc.so.12"}.get)
    found = find_nvrtc([str(tmp_path)])
    assert found is not None
    assert (found.location, found.major) == ("libnvrtc.so.12", 12)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    assert find_nvrtc([str(tmp_path)]) is None


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8 * 2**20),
        ({"memory.max": "max\n", "memory.current": "4096\n"}, 8 * 2**20),
        ({"memory.max": "5242880\n", "memory.current": "1048576\n"}, 4 * 2**20),
        ({"memory.max": "4096\n", "memory.current": "8192\n"}, 0),
        ({"memory/memory.limit_in_bytes": "2097152", "memory/memory.usage_in_bytes": "1048576"}, 2**20),
    ],
)
def test_memory_is_what_is_left_here_or_in_the_container(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    write(tmp_path / "proc/meminfo", "MemTotal:       16384 kB\nMemAvailable:    8192 kB\n")
    for name, text in files.items():
        write(tmp_path / "cgroup" / name, text)
    assert available_memory(tmp_path / "proc", tmp_path / "cgroup") == expected


def test_without_proc_half_of_the_memory_is_assumed(tmp_path: Path) -> None:
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert available_memory(tmp_path, tmp_path) == installed // 2
