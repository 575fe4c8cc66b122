"""Draws one token from each row of weights, with one uniform number each.

By inverting the cumulative distribution rather than by the Gumbel-max trick: that would take a random number for every
token of the vocabulary, each of them a function of seed and position.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

_BLOCK = 128
_JUST_BELOW_ONE = 1 - 2.0**-52


def draw(weights: Tensor, uniforms: Sequence[float]) -> Tensor:
    """Return a token for each row, chosen with a probability in proportion to its weight.

    In two steps, so that no row needs a running sum over its whole vocabulary: first the block of tokens in which the
    uniform falls, then the token. A weight of zero is never chosen. Running sums are float64: in float32 the tail of a
    large vocabulary would vanish.

    Args:
        weights: float32 [R, V], not negative, with a positive finite sum in each row.
        uniforms: R numbers in [0, 1), multiples of 2**-52.

    Returns:
        int64 [R]; for a row without such a sum, some number.
    """
    rows, vocab = weights.shape
    if vocab % _BLOCK:
        weights = pad(weights, (0, -vocab % _BLOCK))
    blocks = weights.view(rows, -1, _BLOCK)
    reached = blocks.sum(2).cumsum(1, dtype=torch.float64)
    target = torch.tensor(uniforms, dtype=torch.float64, device=weights.device).unsqueeze(1) * reached[:, -1:]
    block = _first_above(reached, target)
    target = target - pad(reached, (1, 0)).gather(1, block)
    inside = blocks.gather(1, block.unsqueeze(2).expand(rows, 1, _BLOCK)).squeeze(1).cumsum(1, dtype=torch.float64)
    # A block's sum and the end of its running sum may differ by rounding, which must not lead out of the block.
    target = torch.minimum(target, inside[:, -1:] * _JUST_BELOW_ONE)
    return (block * _BLOCK + _first_above(inside, target)).squeeze(1)


def _first_above(reached: Tensor, target: Tensor) -> Tensor:
    """Return where the rising `reached` [R, N] is first above `target` [R, 1]."""
    return torch.searchsorted(reached, target, right=True).clamp_(max=reached.shape[1] - 1)
