"""min-p, top-k and top-p, as one number for each row: tokens that weigh less are out.

Each of the three keeps the most likely tokens, so each is a threshold, and together they are the highest of the three.
Tokens that weigh the same as the last one kept are kept with it: leaving out one of two equals would be arbitrary. A
row's threshold follows from that row alone, along a path that only its own values choose, so its batch cannot matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

_HEAD = 1024  # the largest weights, which settle most rows; the others are sorted in full
_UNLIMITED = 2.0  # a share that no row can reach, whatever its rounding errors


class Filters(Protocol):
    """What a row is drawn with, as `runtime.engine.sampling_params` describes it."""

    @property
    def temperature(self) -> float: ...

    @property
    def top_k(self) -> int: ...

    @property
    def top_p(self) -> float: ...

    @property
    def min_p(self) -> float: ...


def apply_filters(weights: Tensor, params: Sequence[Filters]) -> None:
    """Set the weights to zero that the filters leave out.

    They act in the order min-p, top-k, top-p: top-p counts its share among what the other two have kept.

    Args:
        weights: float32 [R, V], probabilities relative to the highest of their row, which is 1. Changed in place.
        params: of each row.
    """
    vocab = weights.shape[1]
    short = [row for row, each in enumerate(params) if 0 < each.top_k <= _HEAD and each.top_k < vocab]
    long = [row for row, each in enumerate(params) if _HEAD < each.top_k < vocab]
    shared = [row for row, each in enumerate(params) if not 0 < each.top_k < vocab and each.top_p < 1]
    if not (short or long or shared or any(each.min_p for each in params)):
        return
    least = _column([each.min_p for each in params], weights)
    for rows, width in ((short, _HEAD), (long, vocab)):
        if rows:
            least[rows] = _ranked(_rows(weights, rows), least[rows], [params[row] for row in rows], width)
    if shared:
        least[shared] = _shared(_rows(weights, shared), least[shared], [params[row].top_p for row in shared])
    weights.copy_(_kept(weights, least))


def _column(values: Sequence[float], like: Tensor) -> Tensor:
    return torch.tensor(values, dtype=like.dtype, device=like.device).unsqueeze(1)


def _rows(weights: Tensor, rows: Sequence[int]) -> Tensor:
    return weights if len(rows) == len(weights) else weights.index_select(0, torch.tensor(rows, device=weights.device))


def _kept(weights: Tensor, least: Tensor) -> Tensor:
    """Return the weights with zeros for those below `least`.

    The comparison is written as zeros and ones in floats, which a CPU does many times faster than through booleans.
    """
    return torch.ge(weights, least, out=torch.empty_like(weights)).mul_(weights)


def _ranked(weights: Tensor, least: Tensor, params: Sequence[Filters], width: int) -> Tensor:
    """Return the thresholds of rows whose `top_k`, at most `width`, decides what top-p takes its share of."""
    head = _largest(weights, width)
    last = torch.tensor([each.top_k - 1 for each in params], device=weights.device).unsqueeze(1)
    least = torch.maximum(least, head.gather(1, last))
    total = _kept(head, least).sum(1, keepdim=True, dtype=torch.float64)
    shares = [each.top_p if each.top_p < 1 else _UNLIMITED for each in params]
    return _nucleus(head, least, _column(shares, total) * total)[0]


def _shared(weights: Tensor, least: Tensor, shares: Sequence[float]) -> Tensor:
    """Return the thresholds of rows that have top-p but no top-k."""
    total = _kept(weights, least).sum(1, keepdim=True, dtype=torch.float64)
    mass = _column(shares, total) * total
    found, settled = _nucleus(_largest(weights, _HEAD), least, mass)
    if not bool(settled.all()):
        rows = (~settled).squeeze(1).nonzero().squeeze(1)
        whole = _largest(weights.index_select(0, rows), weights.shape[1])
        found[rows] = _nucleus(whole, least[rows], mass[rows])[0]
    return found


def _nucleus(head: Tensor, least: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weight of the token at which the sum from the top reaches `mass`, and whether `head` holds it."""
    reached = _kept(head, least).cumsum(1, dtype=torch.float64)
    place = torch.searchsorted(reached, mass).clamp_(max=head.shape[1] - 1)
    return torch.maximum(least, head.gather(1, place)), reached[:, -1:] >= mass


def _largest(weights: Tensor, width: int) -> Tensor:
    """Return the `width` largest of each row, or all, in falling order.

    On a CPU NumPy finds them several times faster than `topk` and ten times faster than `sort`.
    """
    width = min(width, weights.shape[1])
    if not weights.is_cpu:
        return weights.topk(width).values
    rest = weights.shape[1] - width
    head = np.sort(np.partition(weights.numpy(), rest, axis=1)[:, rest:] if rest else weights.numpy(), axis=1)
    # A copy, since a single column counts as contiguous either way round, and torch takes no negative stride.
    return torch.from_numpy(head[:, ::-1].copy())
