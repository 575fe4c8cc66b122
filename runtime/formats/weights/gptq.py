"""GPTQ as AutoGPTQ and GPTQModel store it: transposed, codes of 2, 3, 4 or 8 bits in a string of 32-bit words.

Source: `QuantLinear.pack` of https://github.com/AutoGPTQ/AutoGPTQ and of https://github.com/ModelCloud/GPTQModel.
Version 1 stores zero points less one; version 2 stores them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.weights.bits import bytes_of, pack_codes, unpack_codes, words_of
from runtime.formats.weights.declarations import WeightFormatSpec
from runtime.formats.weights.integer import (
    column_order,
    drop_constant_zeros,
    integer_matrix,
    reorder_codes,
    storable_zeros,
)
from runtime.formats.weights.layout import FLOATS, INTEGERS, StoredTensor, check_format, check_stored, refuse
from runtime.formats.weights.matrix import PackedMatrix


@dataclass(frozen=True, slots=True)
class GPTQLayout:
    """`qweight` int32 [K bits / 32, N], `qzeros` int32 [G, N bits / 32], `scales` [G, N], `g_idx` int32 [K].

    Attributes:
        zero_offset: what zero points are stored less: 1 in version 1, 0 in version 2. The original code never wraps
            the sum, so a zero point may be 2**bits.
        ordered: whether columns were quantised in the order of their activations. Then `g_idx` must be there, as only
            it says which group a column belongs to; else it may be.
    """

    spec: WeightFormatSpec
    group_size: int
    zero_offset: int
    ordered: bool = False

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        bits, groups = self.spec.bits, math.ceil(k / self.group_size) if self.group_size else 1
        return {
            ".qweight": StoredTensor(((k * bits // 32, n),), (torch.int32,)),
            ".qzeros": StoredTensor(((groups, n * bits // 32),), (torch.int32,)),
            ".scales": StoredTensor(((groups, n),), FLOATS),
            ".g_idx": StoredTensor(((k,),), INTEGERS, optional=groups == 1 or not self.ordered),
        }

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        check_stored(self, tensors, n, k, place)
        parts = {
            "codes": bytes_of(tensors[".qweight"].t()),
            **self.side_parts(tensors, n, place),
        }
        if "order" in parts:
            parts["codes"] = reorder_codes(parts["codes"], parts["order"], self.spec.bits)
        return integer_matrix(self, parts, tensors[".scales"].t(), k, place, ".scales")

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        bits = self.spec.bits
        zeros = unpack_codes(bytes_of(tensors[".qzeros"]), bits).int() + self.zero_offset
        if zeros.max() > 255:
            refuse(place, ".qzeros", "holds a zero point of 256, which no byte can hold")
        parts = drop_constant_zeros(zeros.t().to(torch.uint8), bits)
        groups = tensors.get(".g_idx")
        order = None if groups is None else column_order(groups, self.group_size, place, ".g_idx")
        return parts if order is None else {**parts, "order": order}

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        check_format(self, matrix)
        (n, k), bits, parts = matrix.shape, self.spec.bits, matrix.parts
        groups = torch.arange(k, dtype=torch.int32) // (self.group_size or k)
        codes = parts["codes"]
        if "order" in parts:
            place_of = parts["order"].argsort()
            codes, groups = reorder_codes(codes, place_of, bits), groups[place_of]
        zeros = parts.get("zeros")
        if zeros is None:
            zeros = torch.full((n, parts["scales"].shape[1]), 1 << bits - 1, dtype=torch.uint8)
        zero_codes = storable_zeros(zeros.t(), bits, self.zero_offset)
        return {
            ".qweight": words_of(codes).t().contiguous(),
            ".qzeros": words_of(pack_codes(zero_codes, bits)),
            ".scales": parts["scales"].t().contiguous(),
            ".g_idx": groups,
        }
