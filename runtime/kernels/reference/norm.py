"""Root-mean-square normalisation."""

from __future__ import annotations

import functools

import torch
from torch import Tensor


def rms_norm(
    x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None, room: Tensor | None = None
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension, in float32 (Zhang and Sennrich, 2019).

    Args:
        x: [..., d], any float dtype.
        weight: [d]; a family's convention, such as 1 + w, is folded into it when it is loaded.
        eps: added to the mean square.
        dtype: of the result, `x`'s by default; a float32 residual asks for the compute dtype here.
        room: not used; see `Operators`.

    Returns:
        [..., d] in `dtype`.
    """
    del room
    wide = x.float()
    # The norm reads its input once and needs no temporary of its size, which is most of the time of a long prompt's.
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    mean_square = torch.addcmul(_scalar(eps, x.device), length, length, value=1 / x.shape[-1])
    normed = wide.mul(mean_square.rsqrt_()).mul_(weight)
    return normed.to(x.dtype if dtype is None else dtype)


def add_rms_norm(
    residual: Tensor,
    branch: Tensor,
    weight: Tensor,
    eps: float,
    dtype: torch.dtype,
    post_weight: Tensor | None = None,
    room: Tensor | None = None,
) -> Tensor:
    """Add a branch to the residual stream, and normalise what the next branch reads.

    Args:
        residual: [..., d], changed in place.
        branch: [..., d], of any float dtype.
        weight, eps, dtype: of the norm of the sum, as for `rms_norm`.
        post_weight: [d] of a norm of the branch itself before it is added, for families that have one.
        room: not used; see `Operators`.

    Returns:
        The normed sum, [..., d] in `dtype`.
    """
    del room
    residual.add_(branch if post_weight is None else rms_norm(branch, post_weight, eps, residual.dtype))
    return rms_norm(residual, weight, eps, dtype)


@functools.cache
def _scalar(value: float, device: torch.device) -> Tensor:
    """A float32 scalar as a tensor: a step of one row would spend more on converting a number than on its sum."""
    return torch.tensor(value, dtype=torch.float32, device=device)
