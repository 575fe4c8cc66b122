"""Units of GGUF blocks; the layouts are described where they are decoded for reference, `runtime.formats.gguf.blocks`.

Blocks of some types are aligned to two bytes only, so that all are read as half-words, and words are joined from two.
Weights of a unit come in runs of four columns, as `weight_units` says.
"""

from __future__ import annotations

import triton
import triton.language as tl

from runtime.kernels.triton.bits import half, signed_byte, small_float


@triton.jit
def _word(place, mask):
    """The 32 bits that start at a half-word."""
    low = tl.load(place, mask=mask, other=0).to(tl.int32)
    high = tl.load(place + 1, mask=mask, other=0).to(tl.int32)
    return low | high << 16


@triton.jit
def _halfword(place, mask):
    return tl.load(place, mask=mask, other=0).to(tl.int32)


@triton.jit
def read_block_unit(blocks, row_start, unit, mask, FORMAT: tl.constexpr):
    """The weights of units: a tuple of float32 [P].

    Args:
        blocks: all blocks, as half-words.
        row_start: int64 [P], where the row of each unit starts, in half-words.
        unit: int32 [P], its place in the row; mask: [P].
    """
    start = blocks + row_start
    if FORMAT == "q8_0":
        weights = _q8_0(start + unit // 8 * 17, unit % 8, mask)
    elif FORMAT == "q4_0" or FORMAT == "q4_1" or FORMAT == "q5_0" or FORMAT == "q5_1":
        weights = _block_of_32(start, unit // 4, unit % 4, mask, FORMAT)
    elif FORMAT == "q2_k":
        weights = _q2_k(start + unit // 16 * 42, unit // 8 % 2, unit % 8, mask)
    elif FORMAT == "q3_k":
        weights = _q3_k(start + unit // 16 * 55, unit // 8 % 2, unit % 8, mask)
    elif FORMAT == "q6_k":
        weights = _q6_k(start + unit // 16 * 105, unit // 8 % 2, unit % 8, mask)
    else:
        weights = _q4_or_q5_k(start, unit // 32, unit // 8 % 4, unit % 8, mask, FORMAT)
    return weights


@triton.jit
def _q8_0(block, place, mask):
    scale = half(_halfword(block, mask))
    word = _word(block + 1 + 2 * place, mask)
    weights = ()
    for field in tl.static_range(4):
        weights = weights + (signed_byte((word >> 8 * field) & 255) * scale,)
    return weights


@triton.jit
def _block_of_32(start, number, place, mask, FORMAT: tl.constexpr):
    """Q4_0, Q4_1, Q5_0 and Q5_1: a scale, perhaps a minimum, perhaps the fifth bits, then the nibbles."""
    FIFTH: tl.constexpr = FORMAT == "q5_0" or FORMAT == "q5_1"
    LOWEST: tl.constexpr = FORMAT == "q4_1" or FORMAT == "q5_1"
    HEAD: tl.constexpr = (2 if LOWEST else 1) + (2 if FIFTH else 0)
    block = start + number * (HEAD + 8)
    scale = half(_halfword(block, mask))
    if LOWEST:
        lowest = half(_halfword(block + 1, mask))
    else:
        lowest = (-16.0 if FIFTH else -8.0) * scale
    word = _word(block + HEAD + 2 * place, mask)
    if FIFTH:
        fifth = _word(block + HEAD - 2, mask) >> 4 * place
    weights = ()
    for field in tl.static_range(8):
        code = (word >> (8 * (field % 4) + 4 * (field // 4))) & 15
        if FIFTH:
            code = code | (fifth >> (16 * (field // 4) + field % 4) & 1) << 4
        weights = weights + (small_float(code) * scale + lowest,)
    return weights


@triton.jit
def _q2_k(block, part, place, mask):
    scale, lowest = half(_halfword(block + 40, mask)), half(_halfword(block + 41, mask))
    word = _word(block + 8 + 16 * part + 2 * place, mask)
    weights = ()
    for plane in tl.static_range(4):
        both = _halfword(block + 4 * part + plane, mask) >> 8 * (place // 4)
        group_scale, group_lowest = scale * small_float(both & 15), lowest * small_float(both >> 4 & 15)
        for field in tl.static_range(4):
            code = (word >> (8 * field + 2 * plane)) & 3
            weights = weights + (small_float(code) * group_scale - group_lowest,)
    return weights


@triton.jit
def _q3_k(block, part, place, mask):
    """Scale g has its low four bits in byte g % 8, in the upper half from g = 8 on; its high two in byte 8 + g % 4."""
    scale = half(_halfword(block + 54, mask))
    word = _word(block + 16 + 16 * part + 2 * place, mask)
    third = _word(block + 2 * place, mask) >> 4 * part
    second = place // 4
    weights = ()
    for plane in tl.static_range(4):
        low = _halfword(block + 48 + plane, mask) >> (8 * second + 4 * part)
        high = _halfword(block + 52 + plane % 2, mask) >> (8 * second + 4 * part + 2 * (plane // 2))
        group_scale = scale * (small_float(low & 15 | (high & 3) << 4) - 32.0)
        for field in tl.static_range(4):
            code = (word >> (8 * field + 2 * plane)) & 3 | (third >> (8 * field + plane) & 1) << 2
            weights = weights + ((small_float(code) - 4.0) * group_scale,)
    return weights


@triton.jit
def _q4_or_q5_k(start, number, part, place, mask, FORMAT: tl.constexpr):
    """Eight groups of 32, a scale and a minimum of six bits each; the four parts of 64 hold two groups each."""
    FIFTH: tl.constexpr = FORMAT == "q5_k"
    CODES: tl.constexpr = 24 if FIFTH else 8
    block = start + number * (CODES + 64)
    scale, lowest = half(_halfword(block, mask)), half(_halfword(block + 1, mask))
    scales = _halfword(block + 2 + part % 2, mask)
    minima = _halfword(block + 4 + part % 2, mask)
    later = _halfword(block + 6 + part % 2, mask & (part >= 2))
    word = _word(block + CODES + 16 * part + 2 * place, mask)
    if FIFTH:
        fifth = _word(block + 8 + 2 * place, mask) >> 2 * part
    weights = ()
    for plane in tl.static_range(2):
        first, second, third = scales >> 8 * plane, minima >> 8 * plane, later >> 8 * plane
        group_scale = tl.where(part < 2, first & 63, third & 15 | first >> 2 & 48)
        group_lowest = tl.where(part < 2, second & 63, third >> 4 & 15 | second >> 2 & 48)
        by, less = scale * small_float(group_scale), lowest * small_float(group_lowest)
        for field in tl.static_range(4):
            code = (word >> (8 * field + 4 * plane)) & 15
            if FIFTH:
                code = code | (fifth >> (8 * field + plane) & 1) << 4
            weights = weights + (small_float(code) * by - less,)
    return weights


@triton.jit
def _q6_k(block, part, place, mask):
    scale = half(_halfword(block + 104, mask))
    first = _word(block + 32 * part + 2 * place, mask)
    second = _word(block + 32 * part + 16 + 2 * place, mask)
    high = _word(block + 64 + 16 * part + 2 * place, mask)
    weights = ()
    for plane in tl.static_range(4):
        scales = _halfword(block + 96 + 4 * part + plane, mask) >> 8 * (place // 4)
        group_scale = scale * signed_byte(scales & 255)
        word = second if plane % 2 else first
        for field in tl.static_range(4):
            code = (word >> (8 * field + 4 * (plane // 2))) & 15 | (high >> (8 * field + 2 * plane) & 3) << 4
            weights = weights + ((small_float(code) - 32.0) * group_scale,)
    return weights
