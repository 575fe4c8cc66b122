"""The weight formats as data: how many bits a code has, which shapes a format can hold, and what it is made of.

A *format* is what kernels read. Several checkpoint layouts may be prepared into one format; which, is the business of
`quantization`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runtime.errors import ConfigError, meant

Family = Literal["gguf", "awq", "gptq", "int4", "int8", "fp8", "nvfp4", "mxfp4"]
Layout = Literal["integer", "float8", "nvfp4", "mxfp4", "gguf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormatSpec:
    """One way to hold a matrix [N, K] of N outputs and K inputs.

    Attributes:
        name: the name that configurations and reports use.
        family: where it comes from.
        layout: which of the prepared layouts it has; formats of one layout differ in numbers only.
        bits: of one code.
        group_sizes: admitted numbers of neighbouring inputs that share a scale; 0 is the whole row.
        group_rows: outputs that share a scale; 0 is all of them.
        n_alignment, k_alignment: N and K are multiples of these.
        parts: the tensors that every prepared matrix has.
        optional_parts: those that only some have: `zeros` where a matrix is asymmetric, `order` where its columns
            were permuted to make groups contiguous.
        description: one line for people.
    """

    name: str
    family: Family
    layout: Layout
    bits: int
    group_sizes: tuple[int, ...]
    group_rows: int = 1
    n_alignment: int = 1
    k_alignment: int = 1
    parts: tuple[str, ...]
    optional_parts: tuple[str, ...] = ()
    description: str


# Alignments are those of the layouts on disk: AWQ and GPTQ pack codes and zero points into whole 32-bit words.
WEIGHT_FORMATS: tuple[WeightFormatSpec, ...] = (
    WeightFormatSpec(
        name="awq_int4",
        family="awq",
        layout="integer",
        bits=4,
        group_sizes=(0, 32, 64, 128),
        n_alignment=8,
        k_alignment=8,
        parts=("codes", "scales", "zeros"),
        description="AWQ: 4-bit integers with a scale and a zero point a group",
    ),
    WeightFormatSpec(
        name="gptq_int2",
        family="gptq",
        layout="integer",
        bits=2,
        group_sizes=(0, 16, 32, 64, 128, 256, 512, 1024),
        n_alignment=16,
        k_alignment=16,
        parts=("codes", "scales"),
        optional_parts=("zeros", "order"),
        description="GPTQ: 2-bit integers, symmetric or with zero points, in activation order or not",
    ),
    WeightFormatSpec(
        name="gptq_int3",
        family="gptq",
        layout="integer",
        bits=3,
        group_sizes=(0, 16, 32, 64, 128, 256, 512, 1024),
        n_alignment=32,
        k_alignment=32,
        parts=("codes", "scales"),
        optional_parts=("zeros", "order"),
        description="GPTQ: 3-bit integers, symmetric or with zero points, in activation order or not",
    ),
    WeightFormatSpec(
        name="gptq_int4",
        family="gptq",
        layout="integer",
        bits=4,
        group_sizes=(0, 16, 32, 64, 128, 256, 512, 1024),
        n_alignment=8,
        k_alignment=8,
        parts=("codes", "scales"),
        optional_parts=("zeros", "order"),
        description="GPTQ: 4-bit integers, symmetric or with zero points, in activation order or not",
    ),
    WeightFormatSpec(
        name="gptq_int8",
        family="gptq",
        layout="integer",
        bits=8,
        group_sizes=(0, 16, 32, 64, 128, 256, 512, 1024),
        n_alignment=4,
        k_alignment=4,
        parts=("codes", "scales"),
        optional_parts=("zeros", "order"),
        description="GPTQ: 8-bit integers, symmetric or with zero points, in activation order or not",
    ),
    WeightFormatSpec(
        name="int4",
        family="int4",
        layout="integer",
        bits=4,
        group_sizes=(0, 16, 32, 64, 128, 256, 512, 1024),
        k_alignment=8,
        parts=("codes", "scales"),
        optional_parts=("zeros", "order"),
        description="weight-only INT4, as compressed-tensors packs it",
    ),
    WeightFormatSpec(
        name="int8",
        family="int8",
        layout="integer",
        bits=8,
        group_sizes=(0, 16, 32, 64, 128, 256, 512, 1024),
        parts=("codes", "scales"),
        optional_parts=("zeros", "order"),
        description="weight-only INT8, one scale an output or a group",
    ),
    WeightFormatSpec(
        name="fp8_tensor",
        family="fp8",
        layout="float8",
        bits=8,
        group_sizes=(0,),
        group_rows=0,
        parts=("codes", "scales"),
        description="FP8 E4M3 with one scale a matrix",
    ),
    WeightFormatSpec(
        name="fp8_channel",
        family="fp8",
        layout="float8",
        bits=8,
        group_sizes=(0,),
        parts=("codes", "scales"),
        description="FP8 E4M3 with one scale an output",
    ),
    WeightFormatSpec(
        name="fp8_block",
        family="fp8",
        layout="float8",
        bits=8,
        group_sizes=(128,),
        group_rows=128,
        parts=("codes", "scales"),
        description="FP8 E4M3 with one scale for each square of 128 x 128",
    ),
    WeightFormatSpec(
        name="nvfp4",
        family="nvfp4",
        layout="nvfp4",
        bits=4,
        group_sizes=(16,),
        k_alignment=16,
        parts=("codes", "block_scales", "global_scale"),
        description="NVFP4: E2M1 with an E4M3 scale for 16 weights and one float32 scale a matrix",
    ),
    WeightFormatSpec(
        name="mxfp4",
        family="mxfp4",
        layout="mxfp4",
        bits=4,
        group_sizes=(32,),
        k_alignment=32,
        parts=("codes", "block_scales"),
        description="MXFP4: E2M1 with a power of two for 32 weights",
    ),
    WeightFormatSpec(
        name="gguf_q4_0",
        family="gguf",
        layout="gguf",
        bits=4,
        group_sizes=(32,),
        k_alignment=32,
        parts=("blocks",),
        description="GGUF Q4_0: 18 bytes for 32 weights",
    ),
    WeightFormatSpec(
        name="gguf_q4_1",
        family="gguf",
        layout="gguf",
        bits=4,
        group_sizes=(32,),
        k_alignment=32,
        parts=("blocks",),
        description="GGUF Q4_1: 20 bytes for 32 weights",
    ),
    WeightFormatSpec(
        name="gguf_q5_0",
        family="gguf",
        layout="gguf",
        bits=5,
        group_sizes=(32,),
        k_alignment=32,
        parts=("blocks",),
        description="GGUF Q5_0: 22 bytes for 32 weights",
    ),
    WeightFormatSpec(
        name="gguf_q5_1",
        family="gguf",
        layout="gguf",
        bits=5,
        group_sizes=(32,),
        k_alignment=32,
        parts=("blocks",),
        description="GGUF Q5_1: 24 bytes for 32 weights",
    ),
    WeightFormatSpec(
        name="gguf_q8_0",
        family="gguf",
        layout="gguf",
        bits=8,
        group_sizes=(32,),
        k_alignment=32,
        parts=("blocks",),
        description="GGUF Q8_0: 34 bytes for 32 weights",
    ),
    WeightFormatSpec(
        name="gguf_q2_k",
        family="gguf",
        layout="gguf",
        bits=2,
        group_sizes=(256,),
        k_alignment=256,
        parts=("blocks",),
        description="GGUF Q2_K: 84 bytes for 256 weights",
    ),
    WeightFormatSpec(
        name="gguf_q3_k",
        family="gguf",
        layout="gguf",
        bits=3,
        group_sizes=(256,),
        k_alignment=256,
        parts=("blocks",),
        description="GGUF Q3_K: 110 bytes for 256 weights",
    ),
    WeightFormatSpec(
        name="gguf_q4_k",
        family="gguf",
        layout="gguf",
        bits=4,
        group_sizes=(256,),
        k_alignment=256,
        parts=("blocks",),
        description="GGUF Q4_K: 144 bytes for 256 weights",
    ),
    WeightFormatSpec(
        name="gguf_q5_k",
        family="gguf",
        layout="gguf",
        bits=5,
        group_sizes=(256,),
        k_alignment=256,
        parts=("blocks",),
        description="GGUF Q5_K: 176 bytes for 256 weights",
    ),
    WeightFormatSpec(
        name="gguf_q6_k",
        family="gguf",
        layout="gguf",
        bits=6,
        group_sizes=(256,),
        k_alignment=256,
        parts=("blocks",),
        description="GGUF Q6_K: 210 bytes for 256 weights",
    ),
)


_USUAL_GROUP_SIZE = 128


def weight_format(name: str) -> WeightFormatSpec:
    """The format of that name.

    Raises:
        ConfigError: no format is called that; the message names the nearest.
    """
    for spec in WEIGHT_FORMATS:
        if spec.name == name:
            return spec
    names = [spec.name for spec in WEIGHT_FORMATS]
    hint = meant(name, names, f"known: {', '.join(names)}")
    raise ConfigError(f"no weight format is called {name!r}; {hint}")


def usual_group_size(spec: WeightFormatSpec) -> int:
    """Of the groups that a format admits, those that checkpoints mostly have."""
    return _USUAL_GROUP_SIZE if _USUAL_GROUP_SIZE in spec.group_sizes else spec.group_sizes[0]


def admission(spec: WeightFormatSpec, n: int, k: int, group_size: int) -> str | None:
    """The first reason why a format cannot hold a matrix [n, k] with groups of `group_size`; None where it can."""
    if n < 1 or k < 1:
        return f"{spec.name} needs at least one output and one input, not {n} x {k}"
    if n % spec.n_alignment:
        return f"{n} outputs are no multiple of {spec.n_alignment}, which {spec.name} needs"
    if k % spec.k_alignment:
        return f"{k} inputs are no multiple of {spec.k_alignment}, which {spec.name} needs"
    if group_size not in spec.group_sizes:
        admitted = ", ".join(map(str, spec.group_sizes))
        return f"groups of {group_size} are not among those of {spec.name}: {admitted}"
    return None
