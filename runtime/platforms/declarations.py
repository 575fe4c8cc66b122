"""What each platform can do, as data. Literals only: analysers, `v100 explain` and the engine read the same table.

Sources: CUDA C++ programming guide, "Compute capabilities" (features and shared memory of 7.0); PTX ISA, `mma.m8n8k4`
(the only tensor-core shape of sm_70).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A value that a platform cannot honour, and what it uses instead, whoever asked for it."""

    owner_path: str
    refused: object
    value: object
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSpec:
    """One platform.

    The residual stream is not a platform's to choose: a model that overflows float16 declares `model.residual_dtype`,
    and as no platform states that setting, what the model declares is the default on each of them.

    Attributes:
        qualified: whether the runtime is built and tested for it; others run, and are reported as unqualified.
        capability: the CUDA compute capability, None where any or none will do.
        dtypes: floating-point formats of weights and activations that it runs.
        codecs: KV-cache codecs that it runs.
        features: hardware units that kernels may rely on.
        shared_memory_bytes: the most that one thread block may use, 0 where there is none.
        defaults: owner path -> (value, reason). Each platform states `model.dtype`.
        replacements: the safety overrides; those of `cache.codec` say why a codec is refused.
    """

    name: str
    description: str
    qualified: bool
    capability: tuple[int, int] | None
    dtypes: tuple[str, ...]
    codecs: tuple[str, ...]
    features: tuple[str, ...]
    shared_memory_bytes: int
    defaults: Mapping[str, tuple[object, str]]
    replacements: tuple[Replacement, ...]


PLATFORM_SPECS: tuple[PlatformSpec, ...] = (
    PlatformSpec(
        name="sm70",
        description="NVIDIA Volta: V100, TITAN V, Quadro GV100",
        qualified=True,
        capability=(7, 0),
        dtypes=("float16", "float32"),
        codecs=("fp16", "fp32", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        features=("fp16_mma_m8n8k4",),
        shared_memory_bytes=98304,
        defaults={
            "model.dtype": ("float16", "the only float that Volta's tensor cores take"),
            "model.weights": ("packed", "decode is bound by the bytes of weights that are read"),
            "graphs.enabled": (False, "capture has been tested without a card only: true switches it on"),
        },
        replacements=(
            Replacement(
                owner_path="model.dtype",
                refused="bfloat16",
                value="float16",
                reason="sm70 has no bfloat16 arithmetic",
            ),
            Replacement(
                owner_path="model.residual_dtype",
                refused="bfloat16",
                value="float32",
                reason="sm70 has no bfloat16 arithmetic, and only float32 keeps its range",
            ),
            Replacement(
                owner_path="cache.codec",
                refused="bf16",
                value="fp16",
                reason="sm70 has no bfloat16 arithmetic; fp16 takes as many bytes and is more precise",
            ),
        ),
    ),
    PlatformSpec(
        name="cpu",
        description="any CPU that torch runs on: the reference for everything but speed",
        qualified=True,
        capability=None,
        dtypes=("float32", "float16", "bfloat16"),
        codecs=("fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        features=(),
        shared_memory_bytes=0,
        defaults={
            "model.dtype": ("float32", "the float that CPUs compute fastest, and the exactest"),
            "model.weights": ("dequantized", "a CPU decodes weights more slowly than it reads them"),
            "graphs.enabled": (False, "device graphs need a CUDA device"),
        },
        replacements=(
            Replacement(
                owner_path="graphs.enabled",
                refused=True,
                value=False,
                reason="device graphs need a CUDA device",
            ),
        ),
    ),
    PlatformSpec(
        name="cuda",
        description="any other CUDA device: runs, and is not qualified",
        qualified=False,
        capability=None,
        dtypes=("float16", "float32", "bfloat16"),
        codecs=("fp16", "bf16", "fp32", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        features=(),
        shared_memory_bytes=49152,
        defaults={
            "model.dtype": ("float16", "the numerics of the V100 that this runtime is built for"),
            "model.weights": ("packed", "decode is bound by the bytes of weights that are read"),
            "graphs.enabled": (False, "capture has been tested without a card only: true switches it on"),
        },
        replacements=(),
    ),
)
