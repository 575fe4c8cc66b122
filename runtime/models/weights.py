"""The tensors of a decoder as they are computed with, and which tensors of a checkpoint each of them is made of.

Queries, keys and values are one matrix, and so are gate and up: one product for each in place of three and two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.config import DecoderConfig

Matrix = Tensor | PackedMatrix
"""[out, in], in the compute dtype or in the format that a checkpoint has it in."""

Stack = tuple[Matrix, ...]
"""Matrices whose rows follow one another. There is one, unless parts of a fused matrix are held in several formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWeights:
    """One layer. Biases are in the compute dtype; norms are float32.

    Attributes:
        qkv: [(H + 2 KV) D, d]: rows of queries, keys, values.
        output: [d, H D].
        gate_up: [2 F, d]: rows of the gate, then of up.
        down: [d, F].
        q_norm, k_norm: [D].
        attention_norm, mlp_norm: [d], before a branch; attention_post_norm, mlp_post_norm: [d], after it.
    """

    attention_norm: Tensor
    qkv: Stack
    output: Matrix
    mlp_norm: Tensor
    gate_up: Stack
    down: Matrix
    qkv_bias: Tensor | None = None
    output_bias: Tensor | None = None
    gate_up_bias: Tensor | None = None
    down_bias: Tensor | None = None
    q_norm: Tensor | None = None
    k_norm: Tensor | None = None
    attention_post_norm: Tensor | None = None
    mlp_post_norm: Tensor | None = None


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """A whole decoder: embedding and head [vocab, d], the same where they are tied; final norm float32 [d]."""

    embedding: Matrix
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Matrix


@dataclass(frozen=True, slots=True)
class Slot:
    """One tensor of a checkpoint that a model needs.

    Attributes:
        role: its name in `naming`.
        layer: index of the layer; 0 for tensors of the whole model, whose names do not mention it.
        kind: "table" is the embedding, which Hugging Face's quantisations leave alone.
    """

    role: str
    layer: int
    kind: Literal["matrix", "table", "norm", "bias"]
    shape: tuple[int, ...]

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return ".bias" if self.kind == "bias" else ".weight"


def model_slots(config: DecoderConfig) -> dict[str, Slot]:
    """Field of `DecoderWeights` -> what it is read from; without the head where it is the embedding."""
    shape = config.vocab_size, config.hidden_size
    slots = {
        "embedding": Slot("embedding", 0, "table", shape),
        "final_norm": Slot("final_norm", 0, "norm", (config.hidden_size,)),
    }
    if not config.tied_embeddings:
        slots["head"] = Slot("head", 0, "matrix", shape)
    return slots


def layer_slots(config: DecoderConfig, layer: int) -> dict[str, tuple[Slot, ...]]:
    """Field of `LayerWeights` -> the tensors whose rows make it up, in order; without fields that the config lacks."""
    d, ff, head_dim = config.hidden_size, config.intermediate_size, config.head_dim
    queries, keys, values = (heads * head_dim for heads in config.qkv_heads)
    fields: dict[str, tuple[Slot, ...]] = {}
    norms = {"attention_norm": d, "mlp_norm": d}
    if config.post_norms:
        norms |= {"attention_post_norm": d, "mlp_post_norm": d}
    if config.qk_norm:
        norms |= {"q_norm": head_dim, "k_norm": head_dim}
    for name, size in norms.items():
        fields[name] = (Slot(f"layer.{name}", layer, "norm", (size,)),)
    for name, columns, biased, rows in (
        ("qkv", d, config.qkv_bias, {"q": queries, "k": keys, "v": values}),
        ("output", queries, config.output_bias, {"output": d}),
        ("gate_up", d, config.mlp_bias, {"gate": ff, "up": ff}),
        ("down", ff, config.mlp_bias, {"down": d}),
    ):
        fields[name] = tuple(Slot(f"layer.{part}", layer, "matrix", (count, columns)) for part, count in rows.items())
        if biased:
            biases = tuple(Slot(f"layer.{part}", layer, "bias", (count,)) for part, count in rows.items())
            fields[f"{name}_bias"] = biases
    return fields


def all_slots(config: DecoderConfig) -> Iterator[Slot]:
    """Every tensor that a checkpoint of this config must have, each exactly once."""
    yield from model_slots(config).values()
    for layer in range(len(config.layers)):
        for parts in layer_slots(config, layer).values():
            yield from parts
