"""Gated activations: the feed-forward's gate applied to its other half."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def silu_and_mul(x: Tensor) -> Tensor:
    """silu(gate) * up, for x = [gate | up] of shape [..., 2F]. Returns [..., F] of the same dtype."""
    gate, up = x.chunk(2, -1)
    return functional.silu(gate).mul_(up)


def gelu_tanh_and_mul(x: Tensor) -> Tensor:
    """gelu(gate) * up with the tanh form of gelu, for x = [gate | up] of shape [..., 2F]. Returns [..., F]."""
    gate, up = x.chunk(2, -1)
    return functional.gelu(gate, approximate="tanh").mul_(up)
