"""How floats become eight-bit elements of the KV cache, bit for bit as the codecs of `runtime.formats.kv` do it.

The chip converts to none of them. An eight-bit float is the upper end of a float32 after rounding by hand; below its
normal range it is a multiple of its smallest step, to which adding a float with steps of that size rounds.
Source: "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def to_e4m3(x):
    """E4M3 codes of float32, saturating, to nearest even."""
    return _float8(x, 20, 120 << 3, 0x43E00000, 0x3C800000, 0x46800000)


@triton.jit
def to_e5m2(x):
    """E5M2 codes of float32, saturating, to nearest even."""
    return _float8(x, 21, 112 << 2, 0x47600000, 0x38800000, 0x43000000)


@triton.jit
def _float8(
    x, DROPPED: tl.constexpr, BIAS: tl.constexpr, LARGEST: tl.constexpr, NORMAL: tl.constexpr, STEPS: tl.constexpr
):
    """Codes of a format.

    DROPPED bits of the mantissa go; BIAS is what its exponents are less; the others are float32 bits: of the largest
    number, of the smallest normal one, and of the number whose neighbours are the smallest step apart.
    """
    bits = x.to(tl.int32, bitcast=True)
    size = bits & 0x7FFFFFFF
    bounded = tl.minimum(size, LARGEST)
    half = (1 << (DROPPED - 1)) - 1 + ((bounded >> DROPPED) & 1)
    normal = ((bounded + half) >> DROPPED) - BIAS
    shifted = bounded.to(tl.float32, bitcast=True) + tl.full(x.shape, STEPS, tl.int32).to(tl.float32, bitcast=True)
    code = tl.where(bounded < NORMAL, shifted.to(tl.int32, bitcast=True) - STEPS, normal)
    code = tl.where(size > 0x7F800000, 0x7F, code)
    return (code | (bits >> 24 & 0x80)).to(tl.uint8)


@triton.jit
def int8_scale(x):
    """The scale of a group as a codec stores it, float32: max|x| / 127 rounded to float16; NaN where `x` has one."""
    largest = tl.max(tl.abs(x), 0)
    unsound = tl.max((x != x).to(tl.int32), 0) != 0
    scale = tl.div_rn(largest, 127.0).to(tl.float16).to(tl.float32)
    return tl.where(unsound, float("nan"), scale)


@triton.jit
def to_int8(x, scale):
    """Codes, as bytes, of float32 by their float32 scales: to nearest even, 0 where the scale is 0 or not a number."""
    quotient = tl.div_rn(x, tl.where(scale == 0, float("inf"), scale))
    bounded = tl.where(quotient == quotient, tl.minimum(tl.maximum(quotient, -127.0), 127.0), 0.0)
    rounded = (bounded + 12582912.0) - 12582912.0  # 1.5 * 2**23, whose neighbours are one apart
    return rounded.to(tl.int32).to(tl.uint8)
