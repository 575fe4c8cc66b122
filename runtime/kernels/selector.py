"""Which set of element-wise kernels a platform runs, and why not the faster one. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runtime.platforms.packages import TRITON
from runtime.platforms.protocol import declared

DTYPE = "float16"
"""The compute dtype that Triton's kernels are written for."""


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
    if not TRITON.folder():
        return KernelSet("reference", "Triton is not installed", TRITON.install)
    return KernelSet("triton")
