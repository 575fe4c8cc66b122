"""Small integers and floats from the bits of a word."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def small_float(code):
    """float32 of an integer from 0 to 2**23 - 1, exact.

    Written into the mantissa of 2**23, which is taken off again: additions are four times as fast as conversions.
    """
    return (code | 0x4B000000).to(tl.float32, bitcast=True) - 8388608.0


@triton.jit
def signed_byte(byte):
    """float32 of a byte (0 to 255) that holds an int8."""
    return small_float(byte ^ 128) - 128.0


@triton.jit
def half(bits):
    """float32 of the float16 in the low 16 bits."""
    return bits.to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def e4m3(byte):
    """float32 of an OCP E4M3 number that is not NaN: as a float16 it is 2**8 times too small."""
    return half((byte & 0x80) << 8 | (byte & 0x7F) << 7) * 256.0


@triton.jit
def e2m1(code):
    """float32 of an OCP E2M1 number in 4 bits: as a float16 it is 2**14 times too small."""
    return half((code & 8) << 12 | (code & 7) << 9) * 16384.0


@triton.jit
def e8m0(byte):
    """float32 of an OCP E8M0 scale that is not NaN; 0 is 2**-127, which float32 holds as a subnormal number."""
    return tl.where(byte == 0, 0x00400000, byte << 23).to(tl.float32, bitcast=True)
