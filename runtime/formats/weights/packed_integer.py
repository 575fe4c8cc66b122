"""Integers as compressed-tensors stores them: a byte each (`int-quantized`), or packed into words (`pack-quantized`).

Source: `compressors/naive_quantized` and `compressors/pack_quantized` of
https://github.com/vllm-project/compressed-tensors. Codes are signed there; their offset of 2**(bits - 1) makes them the
unsigned codes of this repository, and their zero points with them.
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
class IntegerLayout:
    """`weight` int8 [N, K], or `weight_packed` int32 [N, K bits / 32] with `weight_shape`; `weight_scale` [N, G].

    Attributes:
        packed: whether codes and zero points are packed.
        symmetric: whether there is no `weight_zero_point`: int8 [N, G], or packed along N.
        ordered: whether groups have columns from anywhere, so that `weight_g_idx` must be there; else it may be.
    """

    spec: WeightFormatSpec
    group_size: int
    packed: bool
    symmetric: bool
    ordered: bool = False

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        bits, groups = self.spec.bits, math.ceil(k / self.group_size) if self.group_size else 1
        per_row = ((n, groups), (n,), (1,), ()) if groups == 1 else ((n, groups),)
        tensors = {
            ".weight_scale": StoredTensor(per_row, FLOATS),
            ".weight_g_idx": StoredTensor(((k,),), INTEGERS, optional=groups == 1 or not self.ordered),
        }
        if self.packed:
            tensors[".weight_packed"] = StoredTensor(((n, math.ceil(k * bits / 32)),), (torch.int32,))
            tensors[".weight_shape"] = StoredTensor(((2,),), INTEGERS, optional=True)
        else:
            tensors[".weight"] = StoredTensor(((n, k),), (torch.int8,))
        if not self.symmetric:
            words = ((math.ceil(n * bits / 32), groups),)
            zeros = StoredTensor(words, (torch.int32,)) if self.packed else StoredTensor(per_row, (torch.int8,))
            tensors[".weight_zero_point"] = zeros
        return tensors

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        check_stored(self, tensors, n, k, place)
        shape = tensors.get(".weight_shape")
        if shape is not None and shape.tolist() != [n, k]:
            refuse(place, ".weight_shape", f"says {shape.tolist()}, and the config asks for {[n, k]}")
        bits = self.spec.bits
        if self.packed:
            codes = bytes_of(tensors[".weight_packed"])[:, : k * bits // 8].contiguous()
        else:
            codes = tensors[".weight"].view(torch.uint8) ^ 128
        parts = {"codes": codes, **self.side_parts(tensors, n, place)}
        if "order" in parts:
            parts["codes"] = reorder_codes(codes, parts["order"], bits)
        return integer_matrix(self, parts, _per_row(tensors[".weight_scale"], n), k, place, ".weight_scale")

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        parts: dict[str, Tensor] = {}
        if not self.symmetric:
            parts |= drop_constant_zeros(self._zeros(tensors[".weight_zero_point"], n), self.spec.bits)
        groups = tensors.get(".weight_g_idx")
        order = None if groups is None else column_order(groups, self.group_size, place, ".weight_g_idx")
        return parts if order is None else {**parts, "order": order}

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        check_format(self, matrix)
        (n, k), bits, parts = matrix.shape, self.spec.bits, matrix.parts
        if self.symmetric and "zeros" in parts:
            raise ValueError("a symmetric layout stores no zero points")
        tensors = {".weight_scale": parts["scales"]}
        codes = parts["codes"]
        if self.ordered or "order" in parts:
            order = parts.get("order", torch.arange(k))
            place_of = order.argsort()
            codes = reorder_codes(codes, place_of, bits)
            tensors[".weight_g_idx"] = place_of.to(torch.int32) // (self.group_size or k)
        zeros = parts.get("zeros", torch.full_like(parts["scales"], 1 << bits - 1, dtype=torch.uint8))
        if self.packed:
            tensors |= {".weight_packed": words_of(codes), ".weight_shape": torch.tensor([n, k])}
        else:
            tensors[".weight"] = (codes ^ 128).view(torch.int8)
        if not self.symmetric:
            tensors[".weight_zero_point"] = self._stored_zeros(zeros)
        return tensors

    def _zeros(self, stored: Tensor, n: int) -> Tensor:
        """uint8 [N, G]."""
        if self.packed:
            return unpack_codes(bytes_of(stored.t()), self.spec.bits)[:, :n].t()
        return _per_row(stored.view(torch.uint8) ^ 128, n)

    def _stored_zeros(self, zeros: Tensor) -> Tensor:
        if self.packed:
            codes = storable_zeros(zeros.t(), self.spec.bits)
            along_rows = torch.nn.functional.pad(codes, (0, -zeros.shape[0] % 8))
            return words_of(pack_codes(along_rows, self.spec.bits)).t().contiguous()
        return (zeros ^ 128).view(torch.int8)


def _per_row(values: Tensor, n: int) -> Tensor:
    """[N, G] of what is stored for every group, every row, or all rows at once."""
    return values.expand(n, 1).contiguous() if values.numel() == 1 else values.view(n, -1)
