"""Blocks of every GGML type -> float32, vectorised over blocks.

Each decoder takes `blocks`, uint8 [n, block_bytes], and fills `out`, float32 [n, block_size], contiguous. The order of
the floating-point operations is that of GGML's own code, so that results agree to the last bit.

Source of the layouts: the block structures and `dequantize_row_*` of llama.cpp's `ggml-common.h` and `ggml-quants.c`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from runtime.formats.gguf.ggml import GGMLType

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

_EVERY_BIT = np.arange(8, dtype=np.uint8)[:, None]
_BIT_PAIRS = np.array([0, 2, 4, 6], np.uint8)[:, None]


def _halves(blocks: Bytes, start: int) -> Floats:
    """The fp16 number at byte `start` of every block: [n, 1]."""
    return blocks[:, start : start + 2].view(np.float16).astype(np.float32)


def _nibbles(packed: Bytes, width: int) -> Bytes:
    """[n, bytes] -> [n, 2 * bytes]: of each run of `width` bytes first all low halves, then all high ones."""
    runs = np.ascontiguousarray(packed).reshape(len(packed), -1, width)
    split = np.empty((len(packed), runs.shape[1], 2, width), np.uint8)
    np.bitwise_and(runs, 15, out=split[:, :, 0])
    np.right_shift(runs, 4, out=split[:, :, 1])
    return split.reshape(len(packed), -1)


def _fields(packed: Bytes, width: int, shifts: Bytes, mask: int) -> Bytes:
    """[n, bytes] -> [n, len(shifts) * bytes]: of each run of `width` bytes, the field at each shift in turn."""
    fields = np.ascontiguousarray(packed).reshape(len(packed), -1, 1, width) >> shifts
    fields &= np.uint8(mask)
    return fields.reshape(len(packed), -1)


def _fifth_bits(blocks: Bytes, start: int) -> Bytes:
    """The 32 bits from byte `start` on, one for each weight, in the place of a fifth bit: [n, 32]."""
    return np.unpackbits(blocks[:, start : start + 4], axis=1, bitorder="little") << np.uint8(4)


def _f32(blocks: Bytes, out: Floats) -> None:
    out[:] = blocks.view(np.float32)


def _f16(blocks: Bytes, out: Floats) -> None:
    out[:] = blocks.view(np.float16)


def _bf16(blocks: Bytes, out: Floats) -> None:
    np.left_shift(blocks.view(np.uint16), 16, out=out.view(np.uint32), dtype=np.uint32)


def _q4_0(blocks: Bytes, out: Floats) -> None:
    np.subtract(_nibbles(blocks[:, 2:], 16), np.float32(8), out=out)
    out *= _halves(blocks, 0)


def _q4_1(blocks: Bytes, out: Floats) -> None:
    np.multiply(_nibbles(blocks[:, 4:], 16), _halves(blocks, 0), out=out)
    out += _halves(blocks, 2)


def _q5_0(blocks: Bytes, out: Floats) -> None:
    np.subtract(_nibbles(blocks[:, 6:], 16) | _fifth_bits(blocks, 2), np.float32(16), out=out)
    out *= _halves(blocks, 0)


def _q5_1(blocks: Bytes, out: Floats) -> None:
    np.multiply(_nibbles(blocks[:, 8:], 16) | _fifth_bits(blocks, 4), _halves(blocks, 0), out=out)
    out += _halves(blocks, 2)


def _q8_0(blocks: Bytes, out: Floats) -> None:
    np.multiply(blocks[:, 2:].view(np.int8), _halves(blocks, 0), out=out)


def _scale_groups(weights: npt.NDArray[np.generic], scales: Floats, out: Floats) -> None:
    """out = weights * scales, with one scale for each run of `block_size / scales.shape[1]` weights."""
    groups = (*scales.shape, -1)
    np.multiply(weights.reshape(groups), scales[:, :, None], out=out.reshape(groups))


def _lower_groups(minima: Floats, out: Floats) -> None:
    """out -= minima, with one minimum for each run of weights."""
    groups = out.reshape(*minima.shape, -1)
    groups -= minima[:, :, None]


def _q2_k(blocks: Bytes, out: Floats) -> None:
    scales = blocks[:, :16]
    _scale_groups(_fields(blocks[:, 16:80], 32, _BIT_PAIRS, 3), _halves(blocks, 80) * (scales & 15), out)
    _lower_groups(_halves(blocks, 82) * (scales >> 4), out)


def _q3_k(blocks: Bytes, out: Floats) -> None:
    """The third bit of a weight is stored inverted: where it is missing, 4 is taken off."""
    packed = blocks[:, 96:108]
    scales = _nibbles(packed[:, :8], 8) | _fields(packed[:, 8:], 4, _BIT_PAIRS, 3) << np.uint8(4)
    third = _fields(blocks[:, :32], 32, _EVERY_BIT, 1) << np.uint8(2)
    weights = (_fields(blocks[:, 32:96], 32, _BIT_PAIRS, 3) | third).view(np.int8) - np.int8(4)
    _scale_groups(weights, _halves(blocks, 108) * (scales.view(np.int8) - np.int8(32)), out)


def _six_bit_scales(packed: Bytes) -> tuple[Bytes, Bytes]:
    """12 bytes [n, 12] -> 8 scales and 8 minima [n, 8], of 6 bits each.

    The first four of both lie in the low 6 bits of bytes 0-3 and 4-7; the last four have their low 4 bits in the
    halves of bytes 8-11 and their high 2 bits on top of the first four.
    """
    first, rest = packed[:, :8] & np.uint8(63), packed[:, :8] >> np.uint8(2) & np.uint8(48)
    scales = np.concatenate([first[:, :4], rest[:, :4] | packed[:, 8:] & np.uint8(15)], axis=1)
    minima = np.concatenate([first[:, 4:], rest[:, 4:] | packed[:, 8:] >> np.uint8(4)], axis=1)
    return scales, minima


def _q4_k(blocks: Bytes, out: Floats) -> None:
    scales, minima = _six_bit_scales(blocks[:, 4:16])
    _scale_groups(_nibbles(blocks[:, 16:], 32), _halves(blocks, 0) * scales, out)
    _lower_groups(_halves(blocks, 2) * minima, out)


def _q5_k(blocks: Bytes, out: Floats) -> None:
    scales, minima = _six_bit_scales(blocks[:, 4:16])
    fifth = _fields(blocks[:, 16:48], 32, _EVERY_BIT, 1) << np.uint8(4)
    _scale_groups(_nibbles(blocks[:, 48:], 32) | fifth, _halves(blocks, 0) * scales, out)
    _lower_groups(_halves(blocks, 2) * minima, out)


def _q6_k(blocks: Bytes, out: Floats) -> None:
    high = _fields(blocks[:, 128:192], 32, _BIT_PAIRS, 3) << np.uint8(4)
    weights = (_nibbles(blocks[:, :128], 64) | high).view(np.int8) - np.int8(32)
    _scale_groups(weights, _halves(blocks, 208) * blocks[:, 192:208].view(np.int8), out)


DECODERS: dict[GGMLType, Callable[[Bytes, Floats], None]] = {
    GGMLType.F32: _f32,
    GGMLType.F16: _f16,
    GGMLType.BF16: _bf16,
    GGMLType.Q4_0: _q4_0,
    GGMLType.Q4_1: _q4_1,
    GGMLType.Q5_0: _q5_0,
    GGMLType.Q5_1: _q5_1,
    GGMLType.Q8_0: _q8_0,
    GGMLType.Q2_K: _q2_k,
    GGMLType.Q3_K: _q3_k,
    GGMLType.Q4_K: _q4_k,
    GGMLType.Q5_K: _q5_k,
    GGMLType.Q6_K: _q6_k,
}
