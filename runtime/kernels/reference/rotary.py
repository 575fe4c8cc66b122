"""Rotary position embedding, in the layout that rotates the first half of a head against its second half."""

from __future__ import annotations

import torch
from torch import Tensor


def rotary_table(angles: Tensor, dtype: torch.dtype, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """Cosine and sine rows in the form that `rotary` takes.

    Args:
        angles: [P, D/2] float, position times inverse frequency.
        dtype: of the rows; the dtype of what they will rotate.
        scale: multiplies both, for variants that temper attention through the rotation.

    Returns:
        (cos, sin), each [P, 1, D]: the halves are repeated, and the first half of sin is negated, which turns the
        rotation into two multiplications. A step picks its rows once with `index_select(0, positions)`.
    """
    cos, sin = torch.cos(angles) * scale, torch.sin(angles) * scale
    return torch.cat((cos, cos), -1).unsqueeze(1).to(dtype), torch.cat((-sin, sin), -1).unsqueeze(1).to(dtype)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate every head of every row by its position (Su et al., 2021; halves as in GPT-NeoX).

    Args:
        x: [T, N, D]; queries and keys that lie side by side can be passed as one tensor.
        cos, sin: [T, 1, D], rows of `rotary_table`.

    Returns:
        [T, N, D], a new tensor of `x`'s dtype.
    """
    return (x * cos).addcmul_(x.roll(x.shape[-1] // 2, -1), sin)
