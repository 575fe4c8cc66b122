"""One token for each row of logits, drawn from what the filters leave."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from runtime.kernels.reference.drawing import draw
from runtime.kernels.reference.filters import Filters, apply_filters

NO_TOKEN = -1


def draw_tokens(logits: Tensor, filters: Sequence[Filters], uniforms: Sequence[float]) -> Tensor:
    """Draw a token for each row from softmax(logits / temperature), filtered.

    Args:
        logits: float32 [R, V]. Overwritten.
        filters: of each row; temperatures are positive.
        uniforms: R numbers in [0, 1), multiples of 2**-52.

    Returns:
        int64 [R]; `NO_TOKEN` for a row whose highest logit is not finite, or that has a NaN.
    """
    temperatures = torch.tensor([each.temperature for each in filters], dtype=logits.dtype, device=logits.device)
    highest = logits.amax(1, keepdim=True)
    weights = logits.sub_(highest).div_(temperatures.unsqueeze(1)).exp_()
    apply_filters(weights, filters)
    return draw(weights, uniforms).masked_fill_(~highest.squeeze(1).isfinite(), NO_TOKEN)
