"""The product operator of a model: chooses a provider for each kind of product once, and counts what runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.candidates import AUTO, Choice
from runtime.config.schema import KernelsConfig
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Gate
from runtime.linear.declarations import ProviderSpec, Weights
from runtime.linear.executors import EXECUTORS, Prepare, Prepared, Weight
from runtime.linear.selector import DENSE, PROVIDERS, LinearPlan, row_class
from runtime.linear.workspace import Workspace
from runtime.platforms.packages import missing_packages


@dataclass(slots=True)
class Binding:
    """What was chosen for one kind of product, and how often it ran."""

    choice: Choice[ProviderSpec]
    prepare: Prepare
    calls: int = 0


class Product:
    """The products of activations with one weight, for whoever runs the model to hold: made by `Linear.bind`.

    What a provider can prepare is prepared when rows of its kind first come.
    """

    def __init__(self, linear: Linear, weight: Weight, bias: Tensor | None, gate: Gate | None) -> None:
        self._linear, self._operands = linear, (weight, bias, gate)
        self._bound: dict[int, tuple[Binding, Prepared]] = {}

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        """x @ weight.T with the bias, or its gated activation.

        Args:
            x: [rows, K] in the compute dtype.
            room: contiguous memory of the result's size and dtype that it may be put into.

        Returns:
            [rows, N], or [rows, N / 2] if it is gated, contiguous, in the compute dtype.

        Raises:
            RouteError: the forced provider cannot take this product.
        """
        return self._prepared(x)(x, room)

    def add_to(self, target: Tensor, x: Tensor) -> None:
        """Add x @ weight.T, without a bias, to a contiguous target [rows, N], which may be wider, in place.

        Raises as a call.
        """
        self._prepared(x).add_to(target, x)

    def _prepared(self, x: Tensor) -> Prepared:
        """What runs a product. This is all that a call costs on the host before it is launched."""
        rows = row_class(x.shape[0])
        bound = self._bound.get(rows)
        if bound is None:
            binding = self._linear.binding(x.shape[0], self._operands[0])
            bound = self._bound[rows] = binding, binding.prepare(*self._operands)
        binding, prepared = bound
        binding.calls += 1
        return prepared


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
        self._missing = missing_packages()
        self._workspace = Workspace()
        self._bindings: dict[tuple[int, int, type], Binding] = {}
        if self._forced != AUTO:
            spec = PROVIDERS.find(self._forced)
            weights: Weights = "packed" if spec.weights == "packed" else "dense"
            PROVIDERS.require(spec, self._plan(spec.min_rows or 0, spec.input_alignment, 1, weights))

    @property
    def counters(self) -> Counter[str]:
        """How often each provider ran."""
        counters: Counter[str] = Counter()
        for binding in self._bindings.values():
            counters[binding.choice.spec.name] += binding.calls
        return counters

    @property
    def refusals(self) -> Counter[tuple[str, str]]:
        """How often each provider refused a product, by (provider, reason)."""
        refusals: Counter[tuple[str, str]] = Counter()
        for binding in self._bindings.values():
            for refusal in binding.choice.refusals:
                refusals[refusal] += binding.calls
        return refusals

    def bind(self, weight: Weight, bias: Tensor | None = None, gate: Gate | None = None) -> Product:
        """The products with a weight.

        Args:
            weight: [N, K], contiguous in the compute dtype, or packed.
            bias: [N] in the compute dtype, added to each product.
            gate: what each product is activated by.
        """
        return Product(self, weight, bias, gate)

    def binding(self, rows: int, weight: Weight) -> Binding:
        """The binding of all products that a choice does not tell from this one. Raises RouteError as a product."""
        outputs, inputs = weight.shape
        kind = row_class(rows), inputs, type(weight)
        if kind not in self._bindings:
            form = weight.spec.name if isinstance(weight, PackedMatrix) else DENSE
            choice = PROVIDERS.select(self._plan(rows, inputs, outputs, form), self._forced)
            self._bindings[kind] = Binding(choice, EXECUTORS[choice.spec.name](self._workspace))
        return self._bindings[kind]

    def _plan(self, rows: int, inputs: int, outputs: int, form: str) -> LinearPlan:
        return LinearPlan(
            rows=rows,
            inputs=inputs,
            outputs=outputs,
            format=form,
            dtype=self._dtype,
            platform=self._platform,
            missing=self._missing,
        )
