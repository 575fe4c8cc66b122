"""AWQ as AutoAWQ's GEMM version stores it: transposed, eight codes of 4 bits in a word, interleaved.

Source: `WQLinear_GEMM.from_linear` in https://github.com/casper-hansen/AutoAWQ, awq/modules/linear/gemm.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.weights.bits import bytes_of, pack_codes, unpack_codes, words_of
from runtime.formats.weights.declarations import WeightFormatSpec, weight_format
from runtime.formats.weights.integer import integer_matrix, rewrite_codes, storable_zeros
from runtime.formats.weights.layout import FLOATS, StoredTensor, check_format, check_stored
from runtime.formats.weights.matrix import PackedMatrix

_AWQ = weight_format("awq_int4")
_INTERLEAVED = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
"""Nibble i of a word, counted from the lowest, is the column of this number among the word's eight."""

_STRAIGHT = _INTERLEAVED.argsort()


@dataclass(frozen=True, slots=True)
class AWQLayout:
    """`qweight` int32 [K, N / 8], `qzeros` int32 [G, N / 8], `scales` [G, N]."""

    group_size: int
    spec: WeightFormatSpec = _AWQ

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        groups = math.ceil(k / self.group_size) if self.group_size else 1
        return {
            ".qweight": StoredTensor(((k, n // 8),), (torch.int32,)),
            ".qzeros": StoredTensor(((groups, n // 8),), (torch.int32,)),
            ".scales": StoredTensor(((groups, n),), FLOATS),
        }

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        check_stored(self, tensors, n, k, place)
        words = tensors[".qweight"]
        parts = {
            "codes": rewrite_codes(n, k, 4, lambda rows: _columns(words[:, rows.start // 8 : rows.stop // 8]).t()),
            "zeros": _columns(tensors[".qzeros"]).t().contiguous(),
        }
        return integer_matrix(self, parts, tensors[".scales"].t(), k, place, ".scales")

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        return {}

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        check_format(self, matrix)
        return {
            ".qweight": _words(unpack_codes(matrix.parts["codes"], 4).t()),
            ".qzeros": _words(storable_zeros(matrix.parts["zeros"].t(), 4)),
            ".scales": matrix.parts["scales"].t().contiguous(),
        }


def _columns(words: Tensor) -> Tensor:
    """int32 [R, N / 8] -> one code a byte, uint8 [R, N]."""
    nibbles = unpack_codes(bytes_of(words), 4)
    return nibbles.view(len(words), -1, 8)[..., _STRAIGHT].reshape(len(words), -1)


def _words(columns: Tensor) -> Tensor:
    """The inverse of `_columns`."""
    nibbles = columns.reshape(len(columns), -1, 8)[..., _INTERLEAVED].reshape(len(columns), -1)
    return words_of(pack_codes(nibbles, 4))
