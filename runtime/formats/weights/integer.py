"""Integer formats: rounding a matrix to codes with scales and zero points, and the column order of GPTQ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from runtime.formats.weights.bits import pack_codes, unpack_codes
from runtime.formats.weights.declarations import WeightFormatSpec
from runtime.formats.weights.decoding import spread
from runtime.formats.weights.layout import CheckpointLayout, finite_scales, refuse
from runtime.formats.weights.matrix import PackedMatrix

_FARTHEST = 2**-8
"""How far float16 may move a scale, as a part of the matrix's largest: about as far as 8-bit codes round a weight."""

_CHUNK = 1 << 20
"""Codes that are unpacked at a time: 1 MiB, and as much again for each step of the way."""


def quantize_integer(
    weight: Tensor, spec: WeightFormatSpec, group_size: int, *, symmetric: bool, order: Tensor | None = None
) -> PackedMatrix:
    """Round a matrix to the nearest codes of an integer format.

    The scale of a group is the smallest that reaches both its ends; without a zero point it also spans zero evenly.
    It is rounded to float16 before the codes are chosen.

    Args:
        weight: [N, K], finite.
        symmetric: whether the matrix shall have no zero points.
        order: int32 [K], the original column of every prepared one.
    """
    n, k = weight.shape
    levels = 1 << spec.bits
    values = weight.float() if order is None else weight.float()[:, order.long()]
    groups = _grouped(values, group_size)
    low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
    evenly = torch.maximum(high / (levels // 2 - 1), -low / (levels // 2))
    scales = (evenly if symmetric else (high - low) / (levels - 1)).half()
    divisors = torch.where(scales == 0, 1.0, scales.float())
    zeros = torch.full_like(divisors, levels // 2) if symmetric else (-low / divisors).round_().clamp_(0, levels - 1)
    codes = (values / spread(divisors, group_size, k)).round_() + spread(zeros, group_size, k)
    parts = {"codes": pack_codes(codes.clamp_(0, levels - 1).to(torch.uint8), spec.bits), "scales": scales}
    if not symmetric:
        parts["zeros"] = zeros.to(torch.uint8)
    if order is not None:
        parts["order"] = order.to(torch.int32)
    return PackedMatrix(spec, (n, k), group_size, parts)


def _grouped(values: Tensor, group_size: int) -> Tensor:
    """[N, K] -> [N, G, group_size]; a last group that is shorter is filled with zeros, which change no extreme."""
    if group_size == 0:
        return values.unsqueeze(1)
    short = -values.shape[1] % group_size
    return torch.nn.functional.pad(values, (0, short)).view(len(values), -1, group_size)


def integer_matrix(
    layout: CheckpointLayout, parts: Mapping[str, Tensor], stored: Tensor, k: int, place: str, name: str
) -> PackedMatrix:
    """The matrix [N, k] of a checkpoint's codes and scales.

    Args:
        parts: of the matrix, without its scales.
        stored: the scales [N, G] as any floats. They become float16, to nearest.
        place, name: of the scales, for errors.

    Raises:
        CheckpointError: a scale is NaN, infinite or too large for float16; or all are so small that float16 makes
            another matrix of this one. Where its weights are zero, their scales do not matter.
    """
    scales = finite_scales(stored, torch.float16, place, name)

    def matrix(scales: Tensor) -> PackedMatrix:
        shape = len(scales), k
        return PackedMatrix(layout.spec, shape, layout.group_size, {**parts, "scales": scales})

    largest, farthest = stored.float().abs().max(), (stored.float() - scales.float()).abs().max()
    if farthest > _FARTHEST * largest and matrix(torch.ones_like(scales)).dequantize(torch.float16).any():
        refuse(place, name, f"holds scales of {float(largest):.3g} at most, which float16 rounds to other ones or to 0")
    return matrix(scales)


def rewrite_codes(n: int, k: int, bits: int, read: Callable[[slice], Tensor]) -> Tensor:
    """Packed codes [n, k * bits / 8] of what `read` gives for some rows at a time: uint8 [rows, k], one code a byte.

    Rows come in multiples of 32, so that `read` may take whole words from either side.
    """
    packed = torch.empty(n, k * bits // 8, dtype=torch.uint8)
    step = max(_CHUNK // k // 32, 1) * 32
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        packed[rows] = pack_codes(read(rows), bits)
    return packed


def reorder_codes(packed: Tensor, columns: Tensor, bits: int) -> Tensor:
    """Packed codes whose column j is column `columns[j]` of `packed`."""
    index = columns.long()
    return rewrite_codes(
        packed.shape[0], len(columns), bits, lambda rows: unpack_codes(packed[rows], bits).index_select(1, index)
    )


def column_order(groups: Tensor, group_size: int, place: str, name: str) -> Tensor | None:
    """The order that makes the columns of every group neighbours; None where they are already.

    Args:
        groups: int [K], the group of every column.

    Returns:
        int32 [K], stable: columns of a group keep their order.

    Raises:
        CheckpointError: a group that does not exist, or of another size than the config says.
    """
    k = len(groups)
    size = group_size or k
    count = math.ceil(k / size)
    expected = torch.arange(k) // size
    if torch.equal(groups.long(), expected):
        return None
    strays = groups[(groups < 0) | (groups >= count)]
    if len(strays):
        refuse(place, name, f"names group {int(strays[0])}, and there are {count}")
    order = groups.long().argsort(stable=True)
    if not torch.equal(groups.long()[order], expected):
        refuse(place, name, f"makes groups of other sizes than {size}")
    return order.to(torch.int32)


def storable_zeros(zeros: Tensor, bits: int, offset: int = 0) -> Tensor:
    """Zero points less an offset, as codes of so many bits.

    Raises:
        ValueError: one of them is no such code.
    """
    codes = zeros.int() - offset
    if codes.min() < 0 or codes.max() >= 1 << bits:
        raise ValueError(f"this layout stores zero points from {offset} to {offset + (1 << bits) - 1} only")
    return codes.to(torch.uint8)


def drop_constant_zeros(zeros: Tensor, bits: int) -> dict[str, Tensor]:
    """The part `zeros`, or none where all are what symmetric formats mean."""
    return {} if bool((zeros == 1 << bits - 1).all()) else {"zeros": zeros.contiguous()}
