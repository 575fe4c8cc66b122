"""Codes of a few bits, packed: a row is one little-endian bit string, in which code k starts at bit k * bits."""

from __future__ import annotations

import torch
from torch import Tensor

_THREE_BITS = torch.arange(0, 24, 3, dtype=torch.int32)
_BYTES = torch.arange(0, 24, 8, dtype=torch.int32)


def pack_codes(codes: Tensor, bits: int) -> Tensor:
    """uint8 [R, K], each below 2**bits, bits 2, 3, 4 or 8 -> uint8 [R, K * bits / 8]. K * bits is a multiple of 8."""
    if bits == 3:
        runs = codes.reshape(len(codes), -1, 8).int()
        words = (runs << _THREE_BITS.to(codes.device)).sum(-1, dtype=torch.int32)
        return (words.unsqueeze(-1) >> _BYTES.to(codes.device)).to(torch.uint8).flatten(1)
    per_byte = 8 // bits
    packed = codes[:, ::per_byte].contiguous()
    for place in range(1, per_byte):
        packed |= codes[:, place::per_byte] << place * bits
    return packed


def unpack_codes(packed: Tensor, bits: int) -> Tensor:
    """The inverse of `pack_codes`."""
    if bits == 8:
        return packed
    if bits == 3:
        runs = packed.reshape(len(packed), -1, 3).int()
        words = (runs << _BYTES.to(packed.device)).sum(-1, dtype=torch.int32)
        return (words.unsqueeze(-1) >> _THREE_BITS.to(packed.device) & 7).to(torch.uint8).flatten(1)
    mask = (1 << bits) - 1
    return torch.stack([packed >> shift & mask for shift in range(0, 8, bits)], -1).flatten(1)


def bytes_of(words: Tensor) -> Tensor:
    """int32 [R, W] -> their bytes, little-endian: uint8 [R, 4 W]."""
    return words.reshape(-1).view(torch.uint8).view(len(words), -1)


def words_of(packed: Tensor) -> Tensor:
    """The inverse of `bytes_of`; rows that end within a word are filled up with zeros."""
    filled = torch.nn.functional.pad(packed, (0, -packed.shape[1] % 4))
    return filled.reshape(-1).view(torch.int32).view(len(packed), -1)
