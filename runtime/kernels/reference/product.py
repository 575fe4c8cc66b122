"""The product of activations with a weight matrix.

With few rows it is bound by reading the weights, and on a CPU the plain call of MKL's float32 product is far from that
bound; each of the other two ways to ask for the same product comes closer.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import linear

from runtime.formats.weights.matrix import PackedMatrix

_FEW_ROWS = range(2, 64)
"""For so many rows MKL is 1.3 to 3 times as fast with the weights as its left factor."""

_PARTS = 8
"""MKL computes a single row in one thread; all share it as a batch of products, each with a part of the weights.

There are as many parts however many threads there are, so that a result does not depend on them.
"""


def product(x: Tensor, weight: Tensor | PackedMatrix, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias.

    Args:
        x: [R, K].
        weight: [N, K], contiguous, of the same dtype; a packed one is decoded first.
        bias: [N], if there is one.

    Returns:
        [R, N], contiguous.
    """
    weight = _decoded(weight, x)
    rows = _rows_for_mkl(x)
    if rows == 1:
        result = torch.bmm(*_in_parts(x, weight)).view(1, -1)
    elif rows in _FEW_ROWS:
        result = (weight @ x.t()).t().contiguous()
    else:
        return linear(x, weight, bias)
    return result if bias is None else result.add_(bias)


def add_product(target: Tensor, x: Tensor, weight: Tensor | PackedMatrix) -> None:
    """Add x @ weight.T to a contiguous target [R, N], which may be wider, in place; the rest is as for `product`."""
    if target.dtype != x.dtype:
        target.add_(product(x, weight))
        return
    weight = _decoded(weight, x)
    rows = _rows_for_mkl(x)
    if rows == 1:
        row, parts = _in_parts(x, weight)
        target.view(len(parts), 1, -1).baddbmm_(row, parts)
    elif rows in _FEW_ROWS:
        target.add_((weight @ x.t()).t())
    else:
        target.addmm_(x, weight.t())


def _decoded(weight: Tensor | PackedMatrix, x: Tensor) -> Tensor:
    return weight.dequantize(x.dtype) if isinstance(weight, PackedMatrix) else weight


def _rows_for_mkl(x: Tensor) -> int | None:
    """The rows of a float32 product on a CPU; None for any other, which torch's own choice serves best."""
    return x.shape[0] if x.dtype is torch.float32 and x.device.type == "cpu" else None


def _in_parts(row: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """A row [1, K] and weights [N, K] as a batch of P products: [P, 1, K] and [P, K, N / P]."""
    outputs, inputs = weight.shape
    parts = math.gcd(outputs, _PARTS)
    return row.expand(parts, 1, inputs), weight.view(parts, -1, inputs).mT
