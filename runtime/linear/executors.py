"""What runs each provider. A kernel is imported when its provider is first chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Gate
from runtime.kernels.reference import product as reference
from runtime.linear.workspace import TILE_ELEMENTS, Workspace
from runtime.native import products

Weight = Tensor | PackedMatrix
"""[N, K], contiguous in the compute dtype, or packed."""


class Prepared(Protocol):
    """The products of activations [rows, K] with one weight, as a provider runs them."""

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        """x @ weight.T with the bias, or its gated activation; in `room`, if the provider can write there."""

    def add_to(self, target: Tensor, x: Tensor) -> None:
        """Add x @ weight.T to a contiguous target [rows, N], which may be wider, in place."""


Prepare = Callable[[Weight, Tensor | None, Gate | None], Prepared]
"""What a provider makes of a weight, a bias and a gate."""


@dataclass(frozen=True, slots=True)
class _Unprepared:
    """A provider that puts nothing together beforehand: functions, described in `runtime.kernels.reference.product`."""

    product: Callable[[Tensor, Weight, Tensor | None], Tensor]
    add_product: Callable[[Tensor, Tensor, Weight], None]
    weight: Weight
    bias: Tensor | None
    gate: Gate | None

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        del room
        result = self.product(x, self.weight, self.bias)
        return result if self.gate is None else self.gate.apply(result)

    def add_to(self, target: Tensor, x: Tensor) -> None:
        self.add_product(target, x, self.weight)


def _empty(_workspace: Workspace) -> Prepare:
    def product(x: Tensor, weight: Weight, _bias: Tensor | None) -> Tensor:
        return x.new_empty(0, weight.shape[0])

    return partial(_Unprepared, product, lambda _target, _x, _weight: None)


def _reference(_workspace: Workspace) -> Prepare:
    """Of dense weights it is torch's own product, which on a card is cuBLAS's."""
    return partial(_Unprepared, reference.product, reference.add_product)


def _gemv(_workspace: Workspace) -> Prepare:
    def prepare(weight: Weight, bias: Tensor | None, gate: Gate | None) -> Prepared:
        return products.Product(weight, bias, None if gate is None else gate.activation)

    return prepare


def _dequantized(workspace: Workspace) -> Prepare:
    from runtime.kernels.triton.weight_operands import column_order, ordered_inputs

    def tiles(weight: Weight) -> Iterator[tuple[slice, Tensor]]:
        """Some outputs at a time, each with its decoded weights [R, K]."""
        assert isinstance(weight, PackedMatrix)
        n, k = weight.shape
        step = max(min(n, TILE_ELEMENTS // k), 1)
        for start in range(0, n, step):
            outputs = slice(start, min(start + step, n))
            tile = workspace.tile(outputs.stop - start, k, weight.device)
            products.dequantize(weight, start, tile)
            yield outputs, tile

    def product(x: Tensor, weight: Weight, bias: Tensor | None) -> Tensor:
        x = ordered_inputs(x, column_order(weight))
        out = x.new_empty(x.shape[0], weight.shape[0])
        for outputs, tile in tiles(weight):
            torch.mm(x, tile.t(), out=out[:, outputs])
        return out if bias is None else out.add_(bias)

    def add_product(target: Tensor, x: Tensor, weight: Weight) -> None:
        x = ordered_inputs(x, column_order(weight))
        for outputs, tile in tiles(weight):
            reference.add_product(target[:, outputs], x, tile)

    return partial(_Unprepared, product, add_product)


EXECUTORS: Mapping[str, Callable[[Workspace], Prepare]] = {
    "triton_gemv": _gemv,
    "triton_gemv_dense": _gemv,
    "cublas_fp16": _reference,
    "dequantize_cublas": _dequantized,
    "empty": _empty,
    "reference": _reference,
}
