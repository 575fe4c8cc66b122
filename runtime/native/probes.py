"""What the compiled CUDA operators need of a machine; a probe answers with why it is not there, or with None."""

from __future__ import annotations

from typing import Any

import torch

from runtime.errors import KernelError
from runtime.kernels.cuda.driver import load_driver
from runtime.kernels.cuda.nvrtc import load_nvrtc
from runtime.native.binary import cuda_variants
from runtime.platforms.packages import NVRTC_INSTALL

CAPABILITY = (7, 0)
"""The compute capability that the kernels are written for: the only one whose tensor cores run `mma.m8n8k4` fast."""


def capability_refusal(capability: tuple[int, int]) -> str | None:
    """Whether a card is of the kind that the kernels are written for."""
    if capability == CAPABILITY:
        return None
    return f"kernels are for compute capability {_dotted(CAPABILITY)}, and this card has {_dotted(capability)}"


def driver_refusal() -> str | None:
    """Whether the driver's library can be loaded."""
    try:
        load_driver()
    except KernelError as error:
        return str(error)
    return None


def compiler_refusal(capability: tuple[int, int]) -> str | None:
    """Whether NVRTC is here and compiles for a compute capability. A prebuilt binary needs none."""
    try:
        nvrtc = load_nvrtc()
    except KernelError as error:
        return str(error)
    if capability in nvrtc.capabilities:
        return None
    return (
        f"NVRTC {nvrtc.version} no longer compiles for compute capability {_dotted(capability)}; run `{NVRTC_INSTALL}`"
    )


def shared_memory_refusal(optin_bytes: int) -> str | None:
    """Whether a block may ask for as much shared memory as the largest plan of a kernel does."""
    largest = max(cuda_variants(), key=lambda variant: variant.shared_bytes)
    if optin_bytes >= largest.shared_bytes:
        return None
    return f"{largest.name} needs {largest.shared_bytes} bytes of shared memory, and a block may have {optin_bytes}"


def shared_memory_optin(device: str) -> int:
    """Bytes of shared memory that a block of a card may ask for."""
    properties: Any = torch.cuda.get_device_properties(device)
    return int(properties.shared_memory_per_block_optin)


def _dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))
