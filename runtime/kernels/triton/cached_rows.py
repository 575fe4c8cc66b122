"""Reading keys and values of every codec from a paged cache, by words of 64 bits.

A *lane* is what one thread has of a row: every LANES-th word, so that the threads of a warp read a row side by side.
The elements of a lane are a tuple, in the order of their words; `column_of` says which column of the row each is.

The layouts are those of `runtime.formats.kv`.
"""

from __future__ import annotations

from collections.abc import Mapping

import triton
import triton.language as tl

from runtime.kernels.triton.bits import e4m3, half, signed_byte

ENCODINGS: Mapping[str, str] = {
    "fp16": "fp16",
    "fp8_e4m3": "e4m3",
    "fp8_e5m2": "e5m2",
    "int8_g64": "int8",
    "int8_per_token_head": "int8",
}
"""Codec -> what kernels are compiled for. Codecs that differ only in the channels of a scale are one encoding."""

_WARP = 32


@triton.constexpr_function
def word_elements(encoding):
    """Elements in a word."""
    return 4 if encoding == "fp16" else 8


@triton.constexpr_function
def lanes_of(encoding, head_dim):
    """Lanes of a row: at most a warp."""
    return min(_WARP, head_dim // word_elements(encoding))


@triton.constexpr_function
def words_of(encoding, head_dim):
    """Words of a lane."""
    return head_dim // word_elements(encoding) // lanes_of(encoding, head_dim)


@triton.constexpr_function
def row_words(encoding, head_dim):
    """Words of a row, with its scales."""
    return head_dim // word_elements(encoding) + (2 if encoding == "int8" else 0)


@triton.jit
def column_of(lane, ELEMENT: tl.constexpr, ENCODING: tl.constexpr, HEAD_DIM: tl.constexpr):
    """The column in its row of an element of each lane."""
    WORD: tl.constexpr = word_elements(ENCODING)
    return (ELEMENT // WORD * lanes_of(ENCODING, HEAD_DIM) + lane) * WORD + ELEMENT % WORD


@triton.jit
def load_rows(rows, lane, mask, scale_words, ENCODING: tl.constexpr, HEAD_DIM: tl.constexpr):
    """The elements of rows before any scale, and the scales.

    Args:
        rows: pointers int64 [N] to the first word of each row; mask: [N], rows that are read, others are 0.
        lane: int32 [LANES], from 0.
        scale_words: how many words share a scale, where rows bring any.

    Returns:
        Two tuples of tensors float32 [N, LANES]: an element of each, and what the elements of each word are multiplied
        by, which is empty for encodings whose rows bring no scale.
    """
    WORD: tl.constexpr = word_elements(ENCODING)
    LANES: tl.constexpr = lanes_of(ENCODING, HEAD_DIM)
    elements, scales = (), ()
    if ENCODING == "int8":
        # The word behind the elements holds up to four scales, enough for 256 columns.
        stored = tl.load(rows + HEAD_DIM // WORD, mask=mask, other=0)
    for at in tl.static_range(words_of(ENCODING, HEAD_DIM)):
        word = tl.load(rows[:, None] + (at * LANES + lane)[None, :], mask=mask[:, None], other=0)
        for field in tl.static_range(WORD):
            elements = elements + (_element(word >> (64 // WORD) * field, ENCODING),)
        if ENCODING == "int8":
            place = (at * LANES + lane) // scale_words
            scales = scales + (half(stored[:, None] >> 16 * place[None, :]),)
    return elements, scales


@triton.jit
def _element(bits, ENCODING: tl.constexpr):
    """float32 of the element in the lowest bits."""
    if ENCODING == "fp16":
        value = half(bits)
    else:
        byte = bits.to(tl.int32) & 255
        if ENCODING == "e4m3":
            value = tl.where((byte & 127) == 127, float("nan"), e4m3(byte))
        elif ENCODING == "e5m2":
            value = half(byte << 8)
        else:
            value = signed_byte(byte)
    return value
