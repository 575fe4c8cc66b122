"""From the facts of a machine to the doctor's checks: pure rules, each with the command that mends what it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from runtime.platforms.machine import Card, Machine
from runtime.platforms.packages import NVRTC_INSTALL, RUNTIME_INSTALL, TRITON, V100_INSTALL

Status = Literal["ok", "warn", "fail", "absent"]

VOLTA = (7, 0)
# NVIDIA's Unix driver deprecation schedule: R580 is the last branch for Maxwell, Pascal and Volta.
LAST_BRANCH = 580
# CUDA's compatibility guide: programs of any CUDA 12 release run from R525 on.
FIRST_BRANCH = 525

_TORCH_INSTALL = "pip install torch==2.10.0"
_DRIVER_INSTALL = "sudo apt-get install nvidia-driver-580-server"
_NUMPY_INSTALL = "pip install 'numpy<2.4'"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        status: `ok`; `warn`: works, less well than it could; `fail`: will not work; `absent`: not here, and this
            machine can do without.
        fix: the command that mends it, empty where there is nothing to mend.
    """

    name: str
    status: Status
    detail: str
    fix: str = ""


def judge(machine: Machine) -> Iterator[Check]:
    """Every check, in the order in which one would mend things."""
    yield _python(machine)
    if machine.memory_bytes:
        yield Check("memory", "ok", f"{machine.memory_bytes / 2**30:.1f} GiB that a process may still take")
    yield _driver(machine)
    yield from _devices(machine)
    yield _torch(machine)
    yield _device_code(machine)
    yield _triton(machine)
    yield _nvrtc(machine)
    yield _numpy(machine)


def _has_volta(machine: Machine) -> bool:
    return bool(machine.volta_on_bus) or any(card.capability == VOLTA for card in machine.cards)


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version; empty where it has none."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else ()


def _python(machine: Machine) -> Check:
    if _release(machine.python) < (3, 11):
        return Check("Python", "fail", f"{machine.python}; 3.11 or newer is needed", "sudo apt-get install python3.11")
    return Check("Python", "ok", machine.python)


def _driver(machine: Machine) -> Check:
    driver = machine.driver
    if driver is None:
        if machine.volta_on_bus:
            where = ", ".join(machine.volta_on_bus)
            return Check("driver", "fail", f"none is loaded, though there is a Volta card at {where}", _DRIVER_INSTALL)
        return Check("driver", "absent", "no NVIDIA driver is loaded")
    detail = f"{driver.version}, branch R{driver.branch}"
    unfit = ""
    if driver.branch > LAST_BRANCH:
        unfit = f"R{LAST_BRANCH} is the last branch that supports Volta"
    elif driver.branch < FIRST_BRANCH:
        unfit = f"CUDA 12 builds of torch need R{FIRST_BRANCH} or newer"
    elif driver.open_flavour:
        unfit = "the open kernel modules support Turing and newer; Volta needs the proprietary ones"
    if not unfit:
        return Check("driver", "ok", detail)
    if _has_volta(machine):
        return Check("driver", "fail", f"{detail}: {unfit}", _DRIVER_INSTALL)
    return Check("driver", "ok" if machine.cards else "warn", f"{detail}, not for a V100: {unfit}")


def _devices(machine: Machine) -> Iterator[Check]:
    for index, card in enumerate(machine.cards):
        yield _device(f"device {index}", card)
    if not machine.cards and machine.volta_on_bus:
        where = ", ".join(machine.volta_on_bus)
        detail = f"neither torch nor nvidia-smi sees the Volta card at {where}; a container needs `--gpus all`"
        yield Check("devices", "fail", detail, "sudo nvidia-modprobe -u")
    elif not machine.cards:
        yield Check("devices", "absent", "no CUDA device: the runtime uses the CPU")


def _device(name: str, card: Card) -> Check:
    major, minor = card.capability
    detail = f"{card.name}, {card.memory_bytes / 2**30:.1f} GiB, compute capability {major}.{minor}"
    if card.capability == VOLTA:
        return Check(name, "ok", detail)
    return Check(name, "warn", f"{detail}: not a V100, so it runs unqualified")


def _torch(machine: Machine) -> Check:
    torch = machine.torch
    install = V100_INSTALL if _has_volta(machine) else RUNTIME_INSTALL
    if not torch.version and not torch.failure:
        return Check("torch", "fail", "not installed", install)
    build = f"CUDA {torch.cuda}" if torch.cuda else "a CPU build"
    if torch.failure:
        again = install.replace("pip install", "pip install --force-reinstall")
        known = f"{torch.version} ({build})" if torch.architectures or torch.cuda else torch.version
        return Check("torch", "fail", f"{known}: its process {torch.failure}".lstrip(": "), again)
    return Check("torch", "ok", f"{torch.version} ({build})")


def _device_code(machine: Machine) -> Check:
    name, torch = "sm_70 code", machine.torch
    if "sm_70" in torch.architectures:
        return Check(name, "ok", "in this torch build")
    held = ", ".join(torch.architectures) or "no device code"
    detail = f"this torch build holds {held}"
    if torch.failure or not torch.version:
        detail = "unknown without a torch that answers"
    if _has_volta(machine):
        return Check(name, "fail", f"{detail}; 2.10.0 is the last release on PyPI with sm_70", _TORCH_INSTALL)
    if machine.cards and torch.version and not torch.cuda:
        return Check(name, "warn", f"{detail}, so the card here stays unused", _TORCH_INSTALL)
    return Check(name, "absent", detail)


def _triton(machine: Machine) -> Check:
    if not machine.triton:
        if machine.cards or machine.volta_on_bus:
            return Check("Triton", "warn", "not installed: its kernels are replaced by slower ones", TRITON.install)
        return Check("Triton", "absent", "not installed")
    if _has_volta(machine) and _release(machine.triton) != (3, 6):
        return Check("Triton", "warn", f"{machine.triton}; 3.6.0 is what sm_70 is tested with", TRITON.install)
    return Check("Triton", "ok", machine.triton)


def _nvrtc(machine: Machine) -> Check:
    library = machine.nvrtc
    if library is None:
        if _has_volta(machine):
            return Check("NVRTC", "warn", "not found: native kernels cannot be compiled", NVRTC_INSTALL)
        return Check("NVRTC", "absent", "not found")
    detail = f"CUDA {library.major}: {library.location}" if library.major else library.location
    if _has_volta(machine) and library.major > 12:
        return Check("NVRTC", "warn", f"{detail}; CUDA 13 no longer compiles for sm_70", NVRTC_INSTALL)
    return Check("NVRTC", "ok", detail)


def _numpy(machine: Machine) -> Check:
    if not machine.numpy:
        return Check("numpy", "fail", "not installed", _NUMPY_INSTALL)
    if _release(machine.numpy) >= (2, 4):
        return Check(
            "numpy", "warn", f"{machine.numpy}: Triton's interpreter fails on loops from 2.4 on", _NUMPY_INSTALL
        )
    return Check("numpy", "ok", machine.numpy)
