"""FP4 weights: E2M1 codes, two a byte with the lower nibble first, with scales for 16 (NVFP4) or 32 (MXFP4) of them.

Sources: "OCP Microscaling Formats" 1.0 for MXFP4; for the tensors in checkpoints, ModelOpt's `NVFP4QTensor`,
compressed-tensors' `compressors/nvfp4` and `compressors/mxfp4`, and `convert_moe_packed_tensors` of transformers
(`integrations/mxfp4.py`) for what gpt-oss stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.weights.bits import pack_codes
from runtime.formats.weights.declarations import WeightFormatSpec, weight_format
from runtime.formats.weights.decoding import E2M1, spread
from runtime.formats.weights.float8 import LARGEST_E4M3
from runtime.formats.weights.layout import (
    FLOATS,
    StoredTensor,
    check_format,
    check_stored,
    finite_scales,
    refuse,
)
from runtime.formats.weights.matrix import PackedMatrix

_NVFP4, _MXFP4 = weight_format("nvfp4"), weight_format("mxfp4")
_LARGEST_E2M1, _LARGEST_EXPONENT = 6.0, 2
_E8M0_BIAS, _E8M0_NAN = 127, 255
_E4M3_NAN = 0x7F


def quantize_nvfp4(weight: Tensor) -> PackedMatrix:
    """Round a finite matrix [N, K], K a multiple of 16: the largest weight meets the largest scale and code."""
    n, k = weight.shape
    values = weight.float().contiguous()
    largest = values.view(n, -1, 16).abs().amax(-1)
    global_scale = largest.max() / (LARGEST_E4M3 * _LARGEST_E2M1)
    global_scale = torch.where(global_scale == 0, 1.0, global_scale)
    scales = (largest / (_LARGEST_E2M1 * global_scale)).to(torch.float8_e4m3fn)
    parts = {
        "codes": _nearest_codes(values, scales.float() * global_scale, 16),
        "block_scales": scales.view(torch.uint8),
        "global_scale": global_scale.view(1),
    }
    return PackedMatrix(_NVFP4, (n, k), 16, parts)


def quantize_mxfp4(weight: Tensor) -> PackedMatrix:
    """Round a finite matrix [N, K], K a multiple of 32, by the rule of the specification (section 6.3).

    The scale is the largest power of two not above the largest weight, over that of E2M1; what lies beyond 6 times it
    becomes 6 times it.
    """
    n, k = weight.shape
    values = weight.float().contiguous()
    exponents = torch.frexp(values.view(n, -1, 32).abs().amax(-1)).exponent - 1 - _LARGEST_EXPONENT
    scales = (exponents + _E8M0_BIAS).clamp(0, _E8M0_NAN - 1).to(torch.uint8)
    parts = {"codes": _nearest_codes(values, scales.view(torch.float8_e8m0fnu).float(), 32), "block_scales": scales}
    return PackedMatrix(_MXFP4, (n, k), 32, parts)


def _nearest_codes(values: Tensor, scales: Tensor, group_size: int) -> Tensor:
    """Packed codes of values / scales, to nearest; where two are as near, the even code."""
    ratios = values / spread(torch.where(scales == 0, 1.0, scales), group_size, values.shape[1])
    magnitudes = torch.tensor(E2M1[:8])
    bounds = (magnitudes[:-1] + magnitudes[1:]) / 2
    bounds[1::2] = torch.nextafter(bounds[1::2], torch.zeros(()))
    codes = torch.signbit(ratios).to(torch.uint8) << 3
    for bound in bounds.tolist():
        codes += ratios.abs() > bound
    return pack_codes(codes, 4)


@dataclass(frozen=True, slots=True)
class NVFP4Layout:
    """Codes uint8 [N, K / 2], `weight_scale` E4M3 [N, K / 16] and one float32 scale.

    Attributes:
        codes_name: `.weight` of ModelOpt, `.weight_packed` of compressed-tensors.
        global_name: `.weight_scale_2` of ModelOpt, `.weight_global_scale` of compressed-tensors.
        divides: whether the global scale divides, as in compressed-tensors, instead of multiplying.
    """

    codes_name: str
    global_name: str
    divides: bool
    spec: WeightFormatSpec = _NVFP4
    group_size: int = 16

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        return {
            self.codes_name: StoredTensor(((n, k // 2),), (torch.uint8,)),
            ".weight_scale": StoredTensor(((n, k // 16),), (torch.float8_e4m3fn,)),
            self.global_name: StoredTensor(((1,), ()), FLOATS),
        }

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        check_stored(self, tensors, n, k, place)
        scales = tensors[".weight_scale"].view(torch.uint8).contiguous()
        if bool((scales & _E4M3_NAN == _E4M3_NAN).any()):
            refuse(place, ".weight_scale", "holds NaN")
        codes = tensors[self.codes_name].contiguous()
        parts = {"codes": codes, "block_scales": scales, **self.side_parts(tensors, n, place)}
        return PackedMatrix(self.spec, (n, k), self.group_size, parts)

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        scale = finite_scales(tensors[self.global_name].reshape(1), torch.float32, place, self.global_name)
        if self.divides:
            scale = finite_scales(1 / scale, torch.float32, place, self.global_name)
        return {"global_scale": scale}

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        check_format(self, matrix)
        global_scale = matrix.parts["global_scale"]
        return {
            self.codes_name: matrix.parts["codes"],
            ".weight_scale": matrix.parts["block_scales"].view(torch.float8_e4m3fn),
            self.global_name: 1 / global_scale if self.divides else global_scale.view(()),
        }


MODELOPT_NVFP4 = NVFP4Layout(".weight", ".weight_scale_2", divides=False)
COMPRESSED_NVFP4 = NVFP4Layout(".weight_packed", ".weight_global_scale", divides=True)


@dataclass(frozen=True, slots=True)
class MXFP4Layout:
    """Codes and E8M0 scales, both uint8.

    Attributes:
        codes_name, scales_name: `.weight_packed` [N, K / 2] and `.weight_scale` of compressed-tensors, `_blocks` and
            `_scales` of gpt-oss; scales are [N, K / 32].
        in_blocks: whether codes are [N, K / 32, 16], as in gpt-oss.
    """

    codes_name: str
    scales_name: str
    in_blocks: bool
    spec: WeightFormatSpec = _MXFP4
    group_size: int = 32

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        codes = (n, k // 32, 16) if self.in_blocks else (n, k // 2)
        return {
            self.codes_name: StoredTensor((codes,), (torch.uint8,)),
            self.scales_name: StoredTensor(((n, k // 32),), (torch.uint8,)),
        }

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        check_stored(self, tensors, n, k, place)
        scales = tensors[self.scales_name].contiguous()
        if bool((scales == _E8M0_NAN).any()):
            refuse(place, self.scales_name, "holds NaN")
        codes = tensors[self.codes_name].reshape(n, k // 2).contiguous()
        return PackedMatrix(self.spec, (n, k), self.group_size, {"codes": codes, "block_scales": scales})

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        return {}

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        check_format(self, matrix)
        codes = matrix.parts["codes"]
        return {
            self.codes_name: codes.view(len(codes), -1, 16) if self.in_blocks else codes,
            self.scales_name: matrix.parts["block_scales"],
        }


COMPRESSED_MXFP4 = MXFP4Layout(".weight_packed", ".weight_scale", in_blocks=False)
GPT_OSS_MXFP4 = MXFP4Layout("_blocks", "_scales", in_blocks=True)
