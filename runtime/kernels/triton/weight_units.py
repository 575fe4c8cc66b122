"""Reading weights of every format, a unit at a time.

A *unit* is what one thread reads of a row at once, mostly a word of codes. Its WEIGHTS weights lie in runs of four
columns. SIDE units lie side by side, and each of their runs follows those of all of them: run r of unit u starts in
column (u // SIDE) * SIDE * WEIGHTS + r * SIDE * 4 + u % SIDE * 4. With SIDE 1 a unit is simply WEIGHTS columns.

The layouts are those of `runtime.formats.weights`; a matrix of plain float16 is read by the same kernels.
"""

from __future__ import annotations

import triton
import triton.language as tl

from runtime.kernels.triton.bits import e2m1, e4m3, e8m0, half, small_float
from runtime.kernels.triton.gguf_units import read_block_unit


@triton.jit
def read_unit(
    codes,
    scales,
    offsets,
    rows,
    unit,
    mask,
    row_stride,
    groups,
    group_size,
    group_rows,
    has_offsets,
    FORMAT: tl.constexpr,
    WEIGHTS: tl.constexpr,
):
    """The weights of units: a tuple of WEIGHTS tensors float32 [P].

    Args:
        codes, scales, offsets: the parts of the matrix; of an integer format offsets are its zeros, of nvfp4 its global
            scale; parts that a format does not have are not read.
        rows: int64 [P], the row of each unit; unit: int32 [P], its place there; mask: [P].
        row_stride: elements of codes in a row.
        groups, group_size, group_rows: scales in a row, and weights along both axes that share one.
        has_offsets: whether an integer matrix has zeros; if not, they are in the middle of its codes.
    """
    start = codes + rows * row_stride
    group = unit * WEIGHTS // group_size
    if FORMAT == "fp16":
        quad = tl.load(start + unit, mask=mask, other=0)
        weights = ()
        for field in tl.static_range(4):
            weights = weights + (half(quad >> 16 * field),)
    elif FORMAT == "int2" or FORMAT == "int3" or FORMAT == "int4" or FORMAT == "int8":
        place = rows * groups + group
        weights = _integers(start, scales + place, offsets + place, unit, mask, has_offsets != 0, FORMAT, WEIGHTS)
    elif FORMAT == "fp8":
        scale = tl.load(scales + rows // group_rows * groups + group, mask=mask, other=0)
        word = tl.load(start + unit, mask=mask, other=0)
        weights = ()
        for field in tl.static_range(4):
            weights = weights + (e4m3((word >> 8 * field) & 255) * scale,)
    elif FORMAT == "nvfp4" or FORMAT == "mxfp4":
        scale = tl.load(scales + rows * groups + group, mask=mask, other=0).to(tl.int32)
        word = tl.load(start + unit, mask=mask, other=0)
        weights = ()
        for field in tl.static_range(8):
            if FORMAT == "nvfp4":
                weight = e2m1((word >> 4 * field) & 15) * e4m3(scale) * tl.load(offsets)
            else:
                weight = e2m1((word >> 4 * field) & 15) * e8m0(scale)
            weights = weights + (weight,)
    else:
        weights = read_block_unit(codes, rows * row_stride, unit, mask, FORMAT)
    return weights


@triton.jit
def _integers(start, scales, zeros, unit, mask, has_zeros, FORMAT: tl.constexpr, WEIGHTS: tl.constexpr):
    BITS: tl.constexpr = 3 if FORMAT == "int3" else 32 // WEIGHTS
    scale = tl.load(scales, mask=mask, other=0).to(tl.float32)
    zero = tl.load(zeros, mask=mask & has_zeros, other=1 << (BITS - 1)).to(tl.float32)
    word = _integer_word(start, unit, mask, FORMAT)
    weights = ()
    for field in tl.static_range(WEIGHTS):
        code = (word >> BITS * field) & ((1 << BITS) - 1)
        weights = weights + ((small_float(code) - zero) * scale,)
    return weights


@triton.jit
def _integer_word(start, unit, mask, FORMAT: tl.constexpr):
    """The codes of a unit in the low bits of an int32: four bytes, or the three that eight codes of three bits fill."""
    if FORMAT == "int3":
        place = start + 3 * unit
        word = tl.load(place, mask=mask, other=0).to(tl.int32)
        word |= tl.load(place + 1, mask=mask, other=0).to(tl.int32) << 8
        word |= tl.load(place + 2, mask=mask, other=0).to(tl.int32) << 16
    else:
        word = tl.load(start + unit, mask=mask, other=0)
    return word


@triton.jit
def first_column(unit, run, WEIGHTS: tl.constexpr, SIDE: tl.constexpr):
    """The first of the four columns of a run."""
    return unit // SIDE * (SIDE * WEIGHTS) + run * (SIDE * 4) + unit % SIDE * 4
