"""Rows of an embedding table as the start of the residual stream."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from runtime.formats.weights.matrix import PackedMatrix


def embedding(
    table: Tensor | PackedMatrix, tokens: Tensor, dtype: torch.dtype, scale: float, room: Tensor | None = None
) -> Tensor:
    """scale * table[tokens].

    Args:
        table: [vocab, d], in the compute dtype or packed.
        tokens: int64 [T].
        dtype: of the residual stream.
        scale: of a family that scales its embeddings, else 1.0.
        room: not used; see `Operators`.

    Returns:
        A new tensor [T, d] in `dtype`.
    """
    del room
    if isinstance(table, PackedMatrix):
        rows = table.select_rows(tokens).dequantize(dtype)
    else:
        rows = functional.embedding(tokens, table).to(dtype)
    return rows if scale == 1.0 else rows.mul_(scale)
