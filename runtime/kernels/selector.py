"""Which set of element-wise kernels a platform runs, and why not the faster one. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from runtime.platforms.protocol import declared

DTYPE = "float16"
"""The compute dtype that Triton's kernels are written for."""

INSTALL = "pip install triton==3.6.0"


@dataclass(frozen=True, slots=True)
class KernelSet:
    """A choice.

    Attributes:
        name: of the set.
        refusal: why Triton's does not run; empty where it does.
        remedy: the command that would change that; empty where none would.
    """

    name: Literal["triton", "reference"]
    refusal: str = ""
    remedy: str = ""


def select_kernels(platform: str, dtype: str) -> KernelSet:
    """The set for a platform and a compute dtype, both by name, in this process.

    Raises:
        ConfigError: there is no such platform.
    """
    if declared(platform).spec.shared_memory_bytes == 0:
        return KernelSet("reference", f"platform {platform} has no thread blocks, which Triton's kernels run in")
    if dtype != DTYPE:
        return KernelSet("reference", f"dtype {dtype}: Triton's kernels compute in {DTYPE}")
    if find_spec("triton") is None:
        return KernelSet("reference", "Triton is not installed", INSTALL)
    return KernelSet("triton")
