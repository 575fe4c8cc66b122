"""What runs each provider. A kernel is imported when its provider is first chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Activation, Gate
from runtime.kernels.reference import product as reference
from runtime.linear.workspace import TILE_ELEMENTS, Workspace
from runtime.native import products

Weight = Tensor | PackedMatrix
"""[N, K], contiguous in the compute dtype, or packed."""


@dataclass(frozen=True, slots=True)
class Executor:
    """A provider's operations; `runtime.kernels.reference.product` describes the first two.

    Attributes:
        fused_gate: a product and the gated activation of its result in one; None where that takes two.
    """

    product: Callable[[Tensor, Weight, Tensor | None], Tensor]
    add_product: Callable[[Tensor, Tensor, Weight], None]
    fused_gate: Callable[[Tensor, Weight, Tensor | None, Activation], Tensor] | None = None

    def gated_product(self, x: Tensor, weight: Weight, bias: Tensor | None, gate: Gate) -> Tensor:
        """gate(x @ weight.T + bias), [M, N / 2]."""
        if self.fused_gate is None:
            return gate.apply(self.product(x, weight, bias))
        return self.fused_gate(x, weight, bias, gate.activation)


def _empty(_workspace: Workspace) -> Executor:
    def product(x: Tensor, weight: Weight, _bias: Tensor | None) -> Tensor:
        return x.new_empty(0, weight.shape[0])

    return Executor(product, lambda _target, _x, _weight: None)


def _reference(_workspace: Workspace) -> Executor:
    """Of dense weights it is torch's own product, which on a card is cuBLAS's."""
    return Executor(reference.product, reference.add_product)


def _gemv(_workspace: Workspace) -> Executor:
    return Executor(products.product, products.add_product, products.gated_product)


def _dequantized(workspace: Workspace) -> Executor:
    from runtime.kernels.triton.weight_operands import ordered_inputs

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
        x = ordered_inputs(x, weight)
        out = x.new_empty(x.shape[0], weight.shape[0])
        for outputs, tile in tiles(weight):
            torch.mm(x, tile.t(), out=out[:, outputs])
        return out if bias is None else out.add_(bias)

    def add_product(target: Tensor, x: Tensor, weight: Weight) -> None:
        x = ordered_inputs(x, weight)
        for outputs, tile in tiles(weight):
            reference.add_product(target[:, outputs], x, tile)

    return Executor(product, add_product)


EXECUTORS: Mapping[str, Callable[[Workspace], Executor]] = {
    "triton_gemv": _gemv,
    "triton_gemv_dense": _gemv,
    "cublas_fp16": _reference,
    "dequantize_cublas": _dequantized,
    "empty": _empty,
    "reference": _reference,
}
