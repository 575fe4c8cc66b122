"""The tensors of a decoder as they are computed with, and where the tensors of a checkpoint go in them.

Queries, keys and values are one matrix, and so are gate and up: one product for each in place of three and two. Storage
is reserved once, and a checkpoint is read straight into slices of it, so nothing is ever held twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from runtime.models.config import DecoderConfig


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer. Matrices are [out, in] in the compute dtype, as are biases; norms are float32.

    Attributes:
        qkv: [(H + 2 KV) D, d]: rows of queries, keys, values.
        output: [d, H D].
        gate_up: [2 F, d]: rows of the gate, then of up.
        down: [d, F].
        q_norm, k_norm: [D].
        attention_norm, mlp_norm: [d], before a branch; attention_post_norm, mlp_post_norm: [d], after it.
    """

    attention_norm: Tensor
    qkv: Tensor
    output: Tensor
    mlp_norm: Tensor
    gate_up: Tensor
    down: Tensor
    qkv_bias: Tensor | None
    output_bias: Tensor | None
    gate_up_bias: Tensor | None
    down_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    attention_post_norm: Tensor | None
    mlp_post_norm: Tensor | None


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """A whole decoder: embedding and head [vocab, d], the same tensor where they are tied; final norm float32 [d]."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Tensor


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one checkpoint tensor.

    Attributes:
        role: its name in `naming`.
        layer: index of the layer; 0 for tensors of the whole model, whose names do not mention it.
        kind: what its name ends with.
        target: its part of the final storage, contiguous.
    """

    role: str
    layer: int
    kind: Literal["weight", "bias"]
    target: Tensor


def reserve(config: DecoderConfig, dtype: torch.dtype, device: torch.device) -> DecoderWeights:
    """Storage for a decoder, not initialised; the operating system gives it memory as it is written."""
    table = partial(torch.empty, config.vocab_size, config.hidden_size, dtype=dtype, device=device)
    embedding = table()
    return DecoderWeights(
        embedding=embedding,
        layers=tuple(_reserve_layer(config, dtype, device) for _ in config.layers),
        final_norm=torch.empty(config.hidden_size, dtype=torch.float32, device=device),
        head=embedding if config.tied_embeddings else table(),
    )


def slots(config: DecoderConfig, weights: DecoderWeights) -> Iterator[Slot]:
    """The place of every tensor that a checkpoint of this config must have, each exactly once."""
    yield Slot("embedding", 0, "weight", weights.embedding)
    for index, layer in enumerate(weights.layers):
        yield from _layer_slots(config, index, layer)
    yield Slot("final_norm", 0, "weight", weights.final_norm)
    if not config.tied_embeddings:
        yield Slot("head", 0, "weight", weights.head)


def _reserve_layer(config: DecoderConfig, dtype: torch.dtype, device: torch.device) -> LayerWeights:
    matrix = partial(torch.empty, dtype=dtype, device=device)
    norm = partial(torch.empty, dtype=torch.float32, device=device)
    d, ff, head_dim = config.hidden_size, config.intermediate_size, config.head_dim
    rows = sum(config.qkv_heads) * head_dim
    return LayerWeights(
        attention_norm=norm(d),
        qkv=matrix(rows, d),
        output=matrix(d, config.num_heads * head_dim),
        mlp_norm=norm(d),
        gate_up=matrix(2 * ff, d),
        down=matrix(d, ff),
        qkv_bias=matrix(rows) if config.qkv_bias else None,
        output_bias=matrix(d) if config.output_bias else None,
        gate_up_bias=matrix(2 * ff) if config.mlp_bias else None,
        down_bias=matrix(d) if config.mlp_bias else None,
        q_norm=norm(head_dim) if config.qk_norm else None,
        k_norm=norm(head_dim) if config.qk_norm else None,
        attention_post_norm=norm(d) if config.post_norms else None,
        mlp_post_norm=norm(d) if config.post_norms else None,
    )


def _layer_slots(config: DecoderConfig, index: int, layer: LayerWeights) -> Iterator[Slot]:
    for name in ("attention_norm", "attention_post_norm", "mlp_norm", "mlp_post_norm", "q_norm", "k_norm"):
        norm: Tensor | None = getattr(layer, name)
        if norm is not None:
            yield Slot(f"layer.{name}", index, "weight", norm)
    qkv_rows = [heads * config.head_dim for heads in config.qkv_heads]
    gate_up_rows = [config.intermediate_size] * 2
    for matrix, bias, names, rows in (
        (layer.qkv, layer.qkv_bias, ("q", "k", "v"), qkv_rows),
        (layer.output, layer.output_bias, ("output",), [config.hidden_size]),
        (layer.gate_up, layer.gate_up_bias, ("gate", "up"), gate_up_rows),
        (layer.down, layer.down_bias, ("down",), [config.hidden_size]),
    ):
        for name, part in zip(names, matrix.split_with_sizes(rows), strict=True):
            yield Slot(f"layer.{name}", index, "weight", part)
        if bias is not None:
            for name, part in zip(names, bias.split_with_sizes(rows), strict=True):
                yield Slot(f"layer.{name}", index, "bias", part)
