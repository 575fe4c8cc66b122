"""How many kernels a decoded token launches in each layer, counted where every call is one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import torch
from reference_decoders import build_reference, random_config, save_reference
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig, KernelsConfig
from runtime.kernels.gate import Gate
from runtime.kernels.operators import REFERENCE, Operators
from runtime.kernels.rotation import Rotation
from runtime.linear.executors import Weight
from runtime.linear.linear import Linear, Product
from runtime.models.checkpoint import open_checkpoint
from runtime.models.loader import read_decoder
from runtime.platforms import current

BLOCK_SIZE = 16


def counted_operators(launches: list[str]) -> Operators:
    """The reference, noting what is called: Triton's operators of the same names are one launch each."""

    def counted(name: str) -> Callable[..., Any]:
        run = getattr(REFERENCE, name)

        @wraps(run)
        def call(*arguments: Any) -> Any:
            launches.append(name)
            return run(*arguments)

        return call

    return Operators(**{field.name: counted(field.name) for field in fields(Operators)})


class CountedProduct(Product):
    """Notes each call: one launch up to eight rows, its sum or its activation included."""

    launches: list[str]

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        self.launches.append("product")
        return super().__call__(x, room)

    def add_to(self, target: Tensor, x: Tensor) -> None:
        self.launches.append("product into a sum")
        super().add_to(target, x)


class CountedLinear(Linear):
    """Its products note what they launch."""

    def __init__(self, launches: list[str]) -> None:
        super().__init__("cpu", torch.float32, KernelsConfig())
        self.launches = launches

    def bind(self, weight: Weight, bias: Tensor | None = None, gate: Gate | None = None) -> CountedProduct:
        if gate is not None:  # it is part of the product's launch
            alone = {"silu": REFERENCE.silu_and_mul, "gelu_tanh": REFERENCE.gelu_tanh_and_mul}[gate.activation]
            gate = Gate(gate.activation, alone)
        product = CountedProduct(self, weight, bias, gate)
        product.launches = self.launches
        return product


class CountedAttention(Attention):
    """Notes the kernel that attends; the write before it is an operator and notes itself."""

    launches: list[str]

    def forward_rotated(self, layer: int, heads: Tensor, rotation: Rotation, *rooms: Tensor | None) -> Tensor:
        attended = super().forward_rotated(layer, heads, rotation, *rooms)
        self.launches.append("attention")
        return attended


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3"])
def test_a_layer_of_a_decode_step_is_eight_launches(family: str, tmp_path: Path) -> None:
    launches: list[str] = []
    operators = counted_operators(launches)
    checkpoint = open_checkpoint(save_reference(build_reference(random_config(family, 0), 0), tmp_path))
    model = read_decoder(checkpoint, torch.float32, linear=CountedLinear(launches), operators=operators)
    cache = PagedKVCache(model.layers, 1, BLOCK_SIZE, operators=operators)
    attention = CountedAttention(model.layers, cache, current("cpu"), AttentionConfig())
    attention.launches = launches
    batch = AttentionBatch.build([[0]], [0], [1], BLOCK_SIZE)
    attention.begin(batch)
    model.forward(torch.tensor([5]), batch.positions, attention)
    first, second = [place for place, name in enumerate(launches) if name == "attention"][:2]
    assert second - first == 8, launches[first:second]
    assert len(launches) == 2 + 8 * len(model.layers)  # the embedding and the first norm besides
