"""The tensor types of GGML that this repository decodes, and how large their blocks are.

Source: `enum ggml_type` and the block structures of llama.cpp's `ggml.h` and `ggml-common.h`.
"""

from __future__ import annotations

from enum import Enum


class GGMLType(Enum):
    """One storage type. A block is the smallest unit that can be decoded: a run of weights with their scales."""

    F32 = (0, 1, 4)
    F16 = (1, 1, 2)
    BF16 = (30, 1, 2)
    Q4_0 = (2, 32, 18)
    Q4_1 = (3, 32, 20)
    Q5_0 = (6, 32, 22)
    Q5_1 = (7, 32, 24)
    Q8_0 = (8, 32, 34)
    Q2_K = (10, 256, 84)
    Q3_K = (11, 256, 110)
    Q4_K = (12, 256, 144)
    Q5_K = (13, 256, 176)
    Q6_K = (14, 256, 210)

    def __init__(self, code: int, block_size: int, block_bytes: int) -> None:
        self.code = code
        self.block_size = block_size
        """Weights in a block."""
        self.block_bytes = block_bytes
        """Bytes that a block takes in the file."""


TYPES_BY_CODE = {kind.code: kind for kind in GGMLType}

_UNSUPPORTED = """
    9 Q8_1, 15 Q8_K, 16 IQ2_XXS, 17 IQ2_XS, 18 IQ3_XXS, 19 IQ1_S, 20 IQ4_NL, 21 IQ3_S, 22 IQ2_S, 23 IQ4_XS, 24 I8,
    25 I16, 26 I32, 27 I64, 28 F64, 29 IQ1_M, 34 TQ1_0, 35 TQ2_0, 39 MXFP4
"""

UNSUPPORTED_TYPES = {int(code): name for code, name in map(str.split, _UNSUPPORTED.split(","))}
"""Types that GGML knows and this repository refuses; named so that the refusal can name them."""
