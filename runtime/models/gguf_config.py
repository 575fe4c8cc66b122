"""GGUF metadata, read into a `DecoderConfig`.

Source of the keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and llama.cpp's `llama-arch.cpp`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from runtime.models.config import (
    DecoderConfig,
    DivisorScaling,
    LayerKind,
    LinearScaling,
    Rope,
    YarnScaling,
    yarn_attention_factor,
)
from runtime.models.fields import MOST_HEADS, MOST_LAYERS, MOST_POSITIONS, Fields

ROPE_DIVISORS = "rope_freqs.weight"
"""The tensor that divides rotary frequencies, [head_dim / 2]; absent from most files."""


def decoder_from_gguf(fields: Fields, *, family: str, layers: tuple[LayerKind, ...]) -> DecoderConfig:
    """The part of the metadata that families share; they replace what differs.

    What only the tensors tell is left to `with_tensor_facts`.

    Args:
        family: the adapter's name.
        layers: one kind a layer.

    Raises:
        CheckpointError: a key is missing, malformed, or asks for what is not supported.
    """
    fields.must_be("expert_count", 0)
    hidden_size, num_heads = fields.count("embedding_length"), fields.count("attention.head_count", maximum=MOST_HEADS)
    num_kv_heads = fields.count("attention.head_count_kv", num_heads)
    if num_heads % num_kv_heads:
        fields.refuse("attention.head_count_kv", f"a divisor of attention.head_count, {num_heads}")
    head_dim = fields.count("attention.key_length", max(1, hidden_size // num_heads))
    if head_dim % 2:
        fields.refuse("attention.key_length", "an even number")
    for key in ("attention.value_length", "rope.dimension_count"):
        fields.must_be(key, head_dim)
    return DecoderConfig(
        family=family,
        vocab_size=_vocab_size(fields),
        hidden_size=hidden_size,
        intermediate_size=fields.count("feed_forward_length"),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        layers=layers,
        max_positions=fields.count("context_length", maximum=MOST_POSITIONS),
        norm_eps=fields.number("attention.layer_norm_rms_epsilon"),
        activation="silu",
        attention_scale=fields.number("attention.scale", head_dim**-0.5),
        tied_embeddings=True,
    )


def uniform_layers(fields: Fields) -> tuple[LayerKind, ...]:
    """Layers that are all alike, with the file's window if it states one."""
    kind = LayerKind(rope_from_gguf(fields), fields.optional_count("attention.sliding_window"))
    return (kind,) * fields.count("block_count", maximum=MOST_LAYERS)


def rope_from_gguf(fields: Fields) -> Rope:
    """The rotary embedding that the metadata describe."""
    base = fields.number("rope.freq_base", 10_000.0)
    kind = fields.text("rope.scaling.type", "linear" if fields.has("rope.scaling.factor") else "none")
    if kind == "none":
        return Rope(base)
    factor = fields.number("rope.scaling.factor")
    if kind == "linear":
        return Rope(base, LinearScaling(factor))
    if kind != "yarn":
        fields.refuse("rope.scaling.type", "none, linear, yarn")
    attention_factor = fields.number("rope.scaling.attn_factor", 1.0) * yarn_attention_factor(factor)
    scaling = YarnScaling(
        factor=factor,
        original_max_positions=fields.count("rope.scaling.original_context_length", maximum=MOST_POSITIONS),
        attention_factor=attention_factor,
        beta_fast=fields.number("rope.scaling.yarn_beta_fast", 32.0),
        beta_slow=fields.number("rope.scaling.yarn_beta_slow", 1.0),
    )
    return Rope(base, scaling)


def with_tensor_facts(config: DecoderConfig, names: Collection[str], divisors: tuple[float, ...]) -> DecoderConfig:
    """The config with what GGUF files say only through the tensors that they hold.

    Args:
        names: of all tensors.
        divisors: the values of `ROPE_DIVISORS`; empty where the file has none.
    """
    layers = config.layers
    if divisors:
        layers = tuple(replace(kind, rope=Rope(kind.rope.base, DivisorScaling(divisors))) for kind in layers)
    return replace(
        config,
        layers=layers,
        tied_embeddings="output.weight" not in names,
        qkv_bias=config.qkv_bias or "blk.0.attn_q.bias" in names,
        output_bias="blk.0.attn_output.bias" in names,
        mlp_bias="blk.0.ffn_down.bias" in names,
    )


def _vocab_size(fields: Fields) -> int:
    """Older files leave the size out, and mean the number of their tokens."""
    tokens = fields.values.get("tokenizer.ggml.tokens")
    return fields.count("vocab_size", len(tokens) if isinstance(tokens, list) and tokens else None)
