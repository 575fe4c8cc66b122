"""Root-mean-square normalisation."""

from __future__ import annotations

import torch
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension, in float32 (Zhang and Sennrich, 2019).

    Args:
        x: [..., d], any float dtype.
        weight: [d]; a family's convention, such as 1 + w, is folded into it when it is loaded.
        eps: added to the mean square.
        dtype: of the result, `x`'s by default; a float32 residual asks for the compute dtype here.

    Returns:
        [..., d] in `dtype`.
    """
    wide = x.float()
    # The norm reads its input once and needs no temporary of its size, which is most of the time of a long prompt's.
    mean_square = torch.linalg.vector_norm(wide, dim=-1, keepdim=True).square_().mul_(1 / x.shape[-1])
    normed = wide.mul(mean_square.add_(eps).rsqrt_()).mul_(weight)
    return normed.to(x.dtype if dtype is None else dtype)
