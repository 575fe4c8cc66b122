"""The product operator of a model: chooses a provider for each kind of product once, and counts what runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.config.schema import KernelsConfig
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Gate
from runtime.linear.declarations import Weights
from runtime.linear.executors import EXECUTORS, Executor, Weight
from runtime.linear.selector import (
    AUTO,
    DENSE,
    Choice,
    LinearPlan,
    find_provider,
    installed_packages,
    require,
    row_class,
    select,
)
from runtime.linear.workspace import Workspace


@dataclass(slots=True)
class _Binding:
    """What was chosen for one kind of product, and how often it ran."""

    choice: Choice
    executor: Executor
    calls: int = 0


class Linear:
    """Products of activations with the weights of one model."""

    def __init__(self, platform: str, dtype: torch.dtype, policy: KernelsConfig) -> None:
        """Bind the operator to a platform, by name, and to the compute dtype.

        Raises:
            RouteError: the policy forces a provider that is not declared, or that can take no product here.
        """
        self._platform = platform
        self._dtype = str(dtype).removeprefix("torch.")
        self._forced = policy.linear
        self._installed = installed_packages()
        self._workspace = Workspace()
        self._bindings: dict[tuple[int, int, type], _Binding] = {}
        self._by_shape: dict[tuple[torch.Size, type], _Binding] = {}
        if self._forced != AUTO:
            spec = find_provider(self._forced)
            weights: Weights = "packed" if spec.weights == "packed" else "dense"
            require(spec, self._plan(spec.min_rows or 0, spec.input_alignment, 1, weights))

    @property
    def counters(self) -> Counter[str]:
        """How often each provider ran."""
        counters: Counter[str] = Counter()
        for binding in self._bindings.values():
            counters[binding.choice.provider.name] += binding.calls
        return counters

    @property
    def refusals(self) -> Counter[tuple[str, str]]:
        """How often each provider refused a product, by (provider, reason)."""
        refusals: Counter[tuple[str, str]] = Counter()
        for binding in self._bindings.values():
            for refusal in binding.choice.refusals:
                refusals[refusal] += binding.calls
        return refusals

    def product(self, x: Tensor, weight: Weight, bias: Tensor | None = None) -> Tensor:
        """x @ weight.T + bias.

        Args:
            x: [rows, K] in the compute dtype.
            weight: [N, K], contiguous in the compute dtype, or packed.
            bias: [N] in the compute dtype.

        Returns:
            [rows, N], contiguous, in the compute dtype.

        Raises:
            RouteError: the forced provider cannot take this product.
        """
        return self._bound(x, weight).product(x, weight, bias)

    def gated_product(self, x: Tensor, weight: Weight, bias: Tensor | None, gate: Gate) -> Tensor:
        """The gated activation of x @ weight.T + bias, [rows, N / 2]. Raises as `product`."""
        return self._bound(x, weight).gated_product(x, weight, bias, gate)

    def add_product(self, target: Tensor, x: Tensor, weight: Weight) -> None:
        """Add x @ weight.T to a contiguous target [rows, N], which may be wider, in place. Raises as `product`."""
        self._bound(x, weight).add_product(target, x, weight)

    def _bound(self, x: Tensor, weight: Weight) -> Executor:
        """What runs a product. This is all that a call costs on the host."""
        binding = self._by_shape.get((x.shape, type(weight)))
        if binding is None:
            binding = self._by_shape[x.shape, type(weight)] = self._bind(x, weight)
        binding.calls += 1
        return binding.executor

    def _bind(self, x: Tensor, weight: Weight) -> _Binding:
        """The binding of all products that a choice does not tell from this one."""
        (rows, inputs), outputs = x.shape, weight.shape[0]
        kind = row_class(rows), inputs, type(weight)
        if kind not in self._bindings:
            form = weight.spec.name if isinstance(weight, PackedMatrix) else DENSE
            choice = select(self._plan(rows, inputs, outputs, form), self._forced)
            self._bindings[kind] = _Binding(choice, EXECUTORS[choice.provider.name](self._workspace))
        return self._bindings[kind]

    def _plan(self, rows: int, inputs: int, outputs: int, form: str) -> LinearPlan:
        return LinearPlan(
            rows=rows,
            inputs=inputs,
            outputs=outputs,
            format=form,
            dtype=self._dtype,
            platform=self._platform,
            installed=self._installed,
        )
