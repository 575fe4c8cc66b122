"""Prepared tensors -> float32, some rows at a time: the meaning of every layout that kernels read.

Sources: "OCP 8-bit Floating Point Specification" 1.0 (E4M3), "OCP Microscaling Formats" 1.0 (E2M1, E8M0), and NVIDIA's
description of NVFP4, https://developer.nvidia.com/blog/introducing-nvfp4-for-efficient-and-accurate-low-precision-inference/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from runtime.formats.gguf import GGMLType
from runtime.formats.gguf.blocks import DECODERS as BLOCK_DECODERS
from runtime.formats.weights.bits import unpack_codes
from runtime.formats.weights.declarations import Layout, WeightFormatSpec

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""The value of every code of a 4-bit float: sign, two bits of exponent, one of mantissa."""

Parts = Mapping[str, Tensor]


def decode_rows(spec: WeightFormatSpec, group_size: int, parts: Parts, rows: slice, columns: int) -> Tensor:
    """Some rows of a prepared matrix, float32 [len(rows), columns], in the order of the original columns."""
    return _DECODERS[spec.layout](spec, group_size, parts, rows, columns)


def spread(scales: Tensor, group_size: int, columns: int) -> Tensor:
    """[R, G] -> [R, columns]: the value of its group for every column; 0 means that a row is one group."""
    if group_size == 0 or scales.shape[1] == 1:
        return scales.expand(-1, columns)
    return scales.unsqueeze(2).expand(-1, -1, group_size).flatten(1)[:, :columns]


def _integer(spec: WeightFormatSpec, group_size: int, parts: Parts, rows: slice, columns: int) -> Tensor:
    weights = unpack_codes(parts["codes"][rows], spec.bits).float()
    if "zeros" in parts:
        weights -= spread(parts["zeros"][rows].float(), group_size, columns)
    else:
        weights -= 1 << spec.bits - 1
    weights *= spread(parts["scales"][rows].float(), group_size, columns)
    if "order" not in parts:
        return weights
    return torch.empty_like(weights).index_copy_(1, parts["order"].long(), weights)


def _float8(spec: WeightFormatSpec, group_size: int, parts: Parts, rows: slice, columns: int) -> Tensor:
    codes, scales = parts["codes"], parts["scales"]
    numbers = torch.arange(codes.shape[0], device=codes.device)[rows]
    shared = scales[numbers // (spec.group_rows or codes.shape[0])]
    return _values(codes[rows], torch.float8_e4m3fn) * spread(shared, group_size, columns)


def _nvfp4(_spec: WeightFormatSpec, group_size: int, parts: Parts, rows: slice, columns: int) -> Tensor:
    """A product of two small floats is exact, so only the last factor rounds."""
    scales = _values(parts["block_scales"][rows], torch.float8_e4m3fn)
    return _e2m1(parts["codes"][rows]) * spread(scales, group_size, columns) * parts["global_scale"]


def _mxfp4(_spec: WeightFormatSpec, group_size: int, parts: Parts, rows: slice, columns: int) -> Tensor:
    scales = _values(parts["block_scales"][rows], torch.float8_e8m0fnu)
    return _e2m1(parts["codes"][rows]) * spread(scales, group_size, columns)


def _e2m1(codes: Tensor) -> Tensor:
    return torch.take(torch.tensor(E2M1, device=codes.device), unpack_codes(codes, 4).long())


def _values(codes: Tensor, dtype: torch.dtype) -> Tensor:
    """The float32 that each byte means as a float of `dtype`, through a table: torch's own cast is slower."""
    return torch.take(torch.arange(256, dtype=torch.uint8, device=codes.device).view(dtype).float(), codes.long())


def _gguf(spec: WeightFormatSpec, _group_size: int, parts: Parts, rows: slice, columns: int) -> Tensor:
    kind = ggml_type(spec)
    blocks = parts["blocks"][rows].contiguous().cpu().numpy().reshape(-1, kind.block_bytes)
    weights = np.empty((len(blocks), kind.block_size), np.float32)
    with np.errstate(all="ignore"):
        BLOCK_DECODERS[kind](blocks, weights)
    return torch.from_numpy(weights).view(-1, columns).to(parts["blocks"].device)


def ggml_type(spec: WeightFormatSpec) -> GGMLType:
    """The GGML type that a format of the family gguf keeps the blocks of."""
    return GGMLType[spec.name.removeprefix("gguf_").upper()]


_DECODERS: Mapping[Layout, Callable[[WeightFormatSpec, int, Parts, slice, int], Tensor]] = {
    "integer": _integer,
    "float8": _float8,
    "nvfp4": _nvfp4,
    "mxfp4": _mxfp4,
    "gguf": _gguf,
}
