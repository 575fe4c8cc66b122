"""What is installed and plugged in here, found without importing torch into this process."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from runtime.platforms import torch_probe
from runtime.platforms.bounded import run_bounded
from runtime.platforms.cpu import available_memory
from runtime.platforms.nvrtc import NvrtcLibrary, find_nvrtc

_SMI_QUERY = "--query-gpu=name,memory.total,compute_cap,driver_version"
_SMI_SECONDS = 20.0
_NVIDIA = "0x10de"
# GV100 in the PCI ID database: 1d81 (TITAN V) to 1df6 (V100S). Names the card even where no driver drives it.
_VOLTA_IDS = range(0x1D80, 0x1E00)


@dataclass(frozen=True, slots=True)
class Card:
    """One CUDA device, as torch or the driver's tool describes it. Memory is in bytes."""

    name: str
    memory_bytes: int
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """What the installed torch says of itself.

    Attributes:
        version: as installed, or as imported; empty where it is not installed.
        cuda: the CUDA version of the build, None in a CPU build.
        architectures: what it holds code for, such as `sm_70`.
        failure: why it could not be asked, or not to the end.
    """

    version: str = ""
    cuda: str | None = None
    architectures: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Driver:
    """The NVIDIA kernel driver: its version, and whether it is the open flavour."""

    version: str
    open_flavour: bool = False

    @property
    def branch(self) -> int:
        return int(self.version.split(".")[0])


@dataclass(frozen=True, slots=True)
class Machine:
    """Every fact that the doctor judges.

    Attributes:
        cards: CUDA devices, none where neither torch nor the driver's tool could name them.
        volta_on_bus: PCI addresses of Volta cards, driven or not.
        nvrtc: the run-time compiler that torch or a kernel would load.
        triton, numpy: installed versions, empty where they are not installed.
        memory_bytes: what a process may still take of the machine's memory.
    """

    python: str
    torch: TorchBuild
    driver: Driver | None
    cards: tuple[Card, ...]
    volta_on_bus: tuple[str, ...]
    triton: str
    nvrtc: NvrtcLibrary | None
    numpy: str
    memory_bytes: int = 0


def examine(search_path: Sequence[str] = (), timeout_seconds: float = 120.0) -> Machine:
    """Look around. Takes as long as importing torch, and no longer than the timeout by much.

    Args:
        search_path: folders that torch is imported from before all others.
        timeout_seconds: how long torch may take to answer.
    """
    torch, cards = ask_torch(search_path, timeout_seconds)
    smi_driver, smi_cards = _ask_driver()
    return Machine(
        python=platform.python_version(),
        torch=torch,
        driver=loaded_driver() or smi_driver,
        cards=cards or smi_cards,
        volta_on_bus=tuple(volta_on_bus()),
        triton=_installed("triton"),
        nvrtc=find_nvrtc(),
        numpy=_installed("numpy"),
        memory_bytes=available_memory(),
    )


def ask_torch(search_path: Sequence[str], timeout_seconds: float) -> tuple[TorchBuild, tuple[Card, ...]]:
    """What torch says of its build and of the cards it sees, and how it failed where it did."""
    if not search_path and importlib.util.find_spec("torch") is None:
        return TorchBuild(), ()
    command = [sys.executable, "-P", torch_probe.__file__, *search_path]
    outcome = run_bounded(command, timeout_seconds)
    facts: dict[str, object] = {}
    for line in outcome.output.splitlines():
        if line.startswith(torch_probe.MARK):
            facts.update(json.loads(line.removeprefix(torch_probe.MARK)))
    return _torch_build(facts, outcome.failure), tuple(_torch_cards(facts))


def loaded_driver(version_file: Path = Path("/proc/driver/nvidia/version")) -> Driver | None:
    """The driver that the kernel has loaded, by its own account."""
    try:
        text = version_file.read_text()
    except OSError:
        return None
    match = re.search(r"^NVRM version:.*?\s(\d+\.[\d.]+)\s", text, re.MULTILINE)
    return Driver(match[1], "Open Kernel Module" in text) if match else None


def volta_on_bus(devices: Path = Path("/sys/bus/pci/devices")) -> Iterator[str]:
    """PCI addresses of Volta cards."""
    for device in sorted(devices.glob("*")):
        try:
            vendor = (device / "vendor").read_text().strip()
            identity = int((device / "device").read_text(), 16)
        except (OSError, ValueError):
            continue
        if vendor == _NVIDIA and identity in _VOLTA_IDS:
            yield device.name


def parse_smi(text: str) -> tuple[Driver | None, tuple[Card, ...]]:
    """Read nvidia-smi's CSV of name, memory in MiB, compute capability and driver version, without units or header."""
    driver, cards = None, []
    for line in text.splitlines():
        match = re.fullmatch(r"(.+), (\d+), (\d+)\.(\d+), (\d+\.[\d.]+)", line.strip())
        if match:
            cards.append(Card(match[1], int(match[2]) * 2**20, (int(match[3]), int(match[4]))))
            driver = Driver(match[5])
    return driver, tuple(cards)


def _ask_driver() -> tuple[Driver | None, tuple[Card, ...]]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None, ()
    return parse_smi(run_bounded([tool, _SMI_QUERY, "--format=csv,noheader,nounits"], _SMI_SECONDS).output)


def _torch_build(facts: dict[str, object], failure: str) -> TorchBuild:
    match facts:
        case {"version": str(version), "cuda": (str() | None) as cuda, "architectures": list(architectures)}:
            return TorchBuild(version, cuda, tuple(architectures), failure)
    return TorchBuild(_installed("torch"), failure=failure or "said nothing")


def _torch_cards(facts: dict[str, object]) -> Iterator[Card]:
    match facts:
        case {"devices": list(devices)}:
            for device in devices:
                yield Card(device["name"], device["memory_bytes"], tuple(device["capability"]))


def _installed(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
