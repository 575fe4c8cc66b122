"""FP8 weights: E4M3 codes with one scale a matrix, a row, or a block of 128 x 128.

Sources: the `FP8` layouts of compressed-tensors and ModelOpt (`weight_scale`), and DeepSeek-V3's, whose
`weight_scale_inv` is a multiplier as well in spite of its name:
https://huggingface.co/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.weights.declarations import WeightFormatSpec
from runtime.formats.weights.layout import (
    FLOATS,
    StoredTensor,
    check_format,
    check_stored,
    finite_scales,
    refuse,
)
from runtime.formats.weights.matrix import PackedMatrix

LARGEST_E4M3 = 448.0
_NAN = 0x7F


def quantize_float8(weight: Tensor, spec: WeightFormatSpec) -> PackedMatrix:
    """Round a finite matrix [N, K] to E4M3: the largest of what shares a scale becomes the largest code."""
    n, k = weight.shape
    rows, columns = spec.group_rows or n, spec.group_sizes[0] or k
    padded = torch.nn.functional.pad(weight.float(), (0, -k % columns, 0, -n % rows))
    tiles = padded.view(len(padded) // rows, rows, -1, columns)
    scales = tiles.abs().amax((1, 3)) / LARGEST_E4M3
    scales = torch.where(scales == 0, 1.0, scales)
    scaled = (tiles / scales[:, None, :, None]).clamp_(-LARGEST_E4M3, LARGEST_E4M3)
    codes = scaled.flatten(2).flatten(0, 1)[:n, :k].to(torch.float8_e4m3fn).view(torch.uint8)
    parts = {"codes": codes.contiguous(), "scales": scales.contiguous()}
    return PackedMatrix(spec, (n, k), spec.group_sizes[0], parts)


@dataclass(frozen=True, slots=True)
class Float8Layout:
    """`weight` float8_e4m3fn [N, K] and its scales, under a name that the tool has chosen."""

    spec: WeightFormatSpec
    scale_name: str = ".weight_scale"

    @property
    def group_size(self) -> int:
        return self.spec.group_sizes[0]

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        """ModelOpt keeps a dimension of 1 behind each of blocks; scales of rows and of matrices lose theirs."""
        rows = math.ceil(n / (self.spec.group_rows or n))
        columns = math.ceil(k / (self.group_size or k))
        shapes: tuple[tuple[int, ...], ...] = ((rows, columns), (rows, 1, columns, 1))
        if columns == 1:
            shapes += ((rows,),) if rows > 1 else ((1,), ())
        return {
            ".weight": StoredTensor(((n, k),), (torch.float8_e4m3fn,)),
            self.scale_name: StoredTensor(shapes, FLOATS),
        }

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        check_stored(self, tensors, n, k, place)
        codes = tensors[".weight"].view(torch.uint8).contiguous()
        if bool((codes & _NAN == _NAN).any()):
            refuse(place, ".weight", "holds NaN")
        rows = math.ceil(n / (self.spec.group_rows or n))
        scales = finite_scales(tensors[self.scale_name], torch.float32, place, self.scale_name)
        return PackedMatrix(self.spec, (n, k), self.group_size, {"codes": codes, "scales": scales.view(rows, -1)})

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        return {}

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        check_format(self, matrix)
        scales = matrix.parts["scales"]
        return {
            ".weight": matrix.parts["codes"].view(torch.float8_e4m3fn),
            self.scale_name: scales.view(()) if self.spec.group_rows == 0 else scales,
        }
