"""The compiled CUDA operators of one engine: whether they may run, where their code comes from, and why not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from runtime.config.schema import KernelsConfig
from runtime.errors import KernelError
from runtime.kernels.cuda.driver import DRIVER, CubinSource
from runtime.kernels.cuda.nvrtc import CubinCompiler, load_nvrtc
from runtime.native import probes
from runtime.native.binary import open_binary, source_digest
from runtime.native.schemas import POLICY_ABI
from runtime.platforms import Platform

_CACHE = Path("~/.cache/voltgate/nvrtc")


@dataclass(frozen=True, slots=True)
class NativeKernels:
    """What an engine may use.

    Attributes:
        refusal: why the compiled CUDA operators do not run here; None where they do.
        identity: of the binary that runs, as traces name it.
    """

    refusal: str | None
    identity: Mapping[str, object]


def initialise(policy: KernelsConfig, platform: Platform) -> NativeKernels:
    """Settle, once an engine, whether the compiled CUDA operators run, and say so where a card goes without them.

    What they do not run falls to the declared fallback of each route, which is counted with this reason.
    """
    spec = platform.spec
    if spec.capability != probes.CAPABILITY:
        return _unused(policy, f"runs on compute capability 7.0, not on the platform {spec.name}")
    if policy.native == "off":
        return _unused(policy, "kernels.native is off")
    try:
        source, identity = _code(policy, platform.device)
    except KernelError as error:
        warnings.warn(f"compiled CUDA operators do not run: {error}", stacklevel=2)
        return _refused(str(error))
    DRIVER.cubins = source
    return NativeKernels(None, identity)


def _unused(policy: KernelsConfig, reason: str) -> NativeKernels:
    """No operator runs. A binary that was named is looked at nevertheless: better here than on the card it is for."""
    if policy.binary:
        try:
            open_binary(Path(policy.binary), probes.CAPABILITY)
        except KernelError as error:
            warnings.warn(f"kernels.binary cannot be run on any card: {error}", stacklevel=3)
    return _refused(reason)


def _code(policy: KernelsConfig, device: str) -> tuple[CubinSource, Mapping[str, object]]:
    """Where cubins come from, and what that is. Raises KernelError with the first reason against it."""
    capability = torch.cuda.get_device_capability(device)
    for refusal in _machine_refusals(capability, device):
        raise KernelError(refusal)
    if policy.binary:
        binary = open_binary(Path(policy.binary), capability)
        return binary, binary.identity
    uncompiled = probes.compiler_refusal(capability)
    if uncompiled is not None:
        raise KernelError(uncompiled)
    identity = {
        "kind": "compiled",
        "policy_abi": POLICY_ABI,
        "compiler": f"NVRTC {load_nvrtc().version}",
        "sources": source_digest(),
    }
    return CubinCompiler(_CACHE.expanduser()), identity


def _machine_refusals(capability: tuple[int, int], device: str) -> Iterator[str]:
    answers = (
        probes.capability_refusal(capability),
        probes.driver_refusal(),
        probes.shared_memory_refusal(probes.shared_memory_optin(device)),
    )
    return (answer for answer in answers if answer is not None)


def _refused(reason: str) -> NativeKernels:
    return NativeKernels(reason, {"kind": "none", "reason": reason})
