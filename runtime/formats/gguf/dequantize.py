"""A stored tensor -> a torch tensor, in pieces that stay in the processor's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runtime.formats.gguf.blocks import DECODERS
from runtime.formats.gguf.tensor_table import GGUFTensor

if TYPE_CHECKING:
    from torch import Tensor

_CHUNK = 1 << 17
"""Weights decoded at a time: 512 KiB of float32. Larger pieces fall out of the L2 cache and are slower."""


def dequantize_into(tensor: GGUFTensor, out: Tensor) -> None:
    """Decode all of `tensor` into `out`, with no more than one chunk of further memory.

    Args:
        out: contiguous, of `tensor.shape`, float32, float16 or bfloat16, on any device. float32 results agree with
            GGML's to the last bit; the narrower types are those, rounded to nearest even.

    Raises:
        ValueError: `out` has another shape or is not contiguous.
    """
    import torch

    if tuple(out.shape) != tensor.shape or not out.is_contiguous():
        raise ValueError(f"{tensor.name}: needs a contiguous tensor of {tensor.shape}, got {tuple(out.shape)}")
    kind = tensor.type
    blocks = tensor.data.reshape(-1, kind.block_bytes)
    step = max(_CHUNK // kind.block_size, 1)
    flat = out.view(-1)
    in_place = flat.numpy() if out.dtype == torch.float32 and out.device.type == "cpu" else None
    scratch = np.empty(min(step, len(blocks)) * kind.block_size, np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, len(blocks), step):
            chunk = blocks[start : start + step]
            first, last = start * kind.block_size, (start + len(chunk)) * kind.block_size
            target = scratch[: last - first] if in_place is None else in_place[first:last]
            DECODERS[kind](chunk, target.reshape(len(chunk), kind.block_size))
            if in_place is None:
                flat[first:last].copy_(torch.from_numpy(target))
