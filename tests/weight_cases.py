"""Random matrices in every weight format, for whatever reads them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from runtime.formats.weights.declarations import WeightFormatSpec, weight_format
from runtime.formats.weights.decoding import ggml_type
from runtime.formats.weights.float4 import quantize_mxfp4, quantize_nvfp4
from runtime.formats.weights.float8 import quantize_float8
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix

# Where the blocks of a GGUF type hold float16 scales.
_SCALES = {
    "gguf_q4_1": (0, 2),
    "gguf_q5_1": (0, 2),
    "gguf_q2_k": (80, 82),
    "gguf_q3_k": (108,),
    "gguf_q4_k": (0, 2),
    "gguf_q5_k": (0, 2),
    "gguf_q6_k": (208,),
}


@dataclass(frozen=True)
class WeightCase:
    """A weight [n, k]; of an integer format also its groups, and whether it has zeros and an order of columns."""

    format: str
    n: int
    k: int
    group_size: int = 0
    symmetric: bool = True
    ordered: bool = False

    def __str__(self) -> str:
        marks = f"{'' if self.symmetric else '-zeros'}{'-ordered' if self.ordered else ''}"
        return f"{self.format}-{self.n}x{self.k}g{self.group_size}{marks}"

    def weight(self) -> PackedMatrix:
        spec, seed = weight_format(self.format), torch.Generator().manual_seed(1000 * self.n + self.k)
        if spec.layout == "gguf":
            return _blocks(spec, self.n, self.k, seed)
        values = torch.randn(self.n, self.k, generator=seed) / 16
        if spec.layout == "integer":
            order = torch.randperm(self.k, generator=seed, dtype=torch.int32) if self.ordered else None
            return quantize_integer(values, spec, self.group_size, symmetric=self.symmetric, order=order)
        if spec.layout == "float8":
            return quantize_float8(values, spec)
        return quantize_nvfp4(values) if spec.layout == "nvfp4" else quantize_mxfp4(values)


def _blocks(spec: WeightFormatSpec, n: int, k: int, seed: torch.Generator) -> PackedMatrix:
    """Any bytes are blocks, except that scales must be small: the upper byte of a half is 0x20 to 0x23, or negative."""
    kind = ggml_type(spec)
    blocks = torch.randint(0, 256, (n * k // kind.block_size, kind.block_bytes), generator=seed, dtype=torch.uint8)
    for place in _SCALES.get(spec.name, (0,)):
        blocks[:, place + 1] = blocks[:, place + 1] & 0x83 | 0x20
    return PackedMatrix(spec, (n, k), spec.group_sizes[0], {"blocks": blocks.view(n, -1)})


# Odd outputs where a format has them, last groups that are shorter, more units than a block of threads takes at once.
WEIGHT_CASES = [
    WeightCase("awq_int4", 8, 384, 128, symmetric=False),
    WeightCase("gptq_int2", 16, 80, 16, symmetric=False),
    WeightCase("gptq_int3", 32, 96, 32, ordered=True),
    WeightCase("gptq_int4", 8, 64, 16, symmetric=False, ordered=True),
    WeightCase("gptq_int8", 4, 48, 32, symmetric=False),
    WeightCase("int4", 5, 1040),
    WeightCase("int8", 3, 1040, 64),
    WeightCase("fp8_tensor", 5, 48),
    WeightCase("fp8_channel", 5, 272),
    WeightCase("fp8_block", 5, 144),
    WeightCase("nvfp4", 5, 48),
    WeightCase("mxfp4", 5, 96),
    WeightCase("gguf_q4_0", 3, 96),
    WeightCase("gguf_q4_1", 3, 96),
    WeightCase("gguf_q5_0", 3, 96),
    WeightCase("gguf_q5_1", 3, 96),
    WeightCase("gguf_q8_0", 3, 576),
    WeightCase("gguf_q2_k", 3, 512),
    WeightCase("gguf_q3_k", 3, 512),
    WeightCase("gguf_q4_k", 3, 512),
    WeightCase("gguf_q5_k", 3, 512),
    WeightCase("gguf_q6_k", 3, 512),
]
