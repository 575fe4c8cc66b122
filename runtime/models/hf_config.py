"""Hugging Face configs (config.json), read into a `DecoderConfig`.

Old and new spellings are both understood: `rope_theta` beside `rope_scaling`, and `rope_parameters` with everything.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.kernels.gate import Activation
from runtime.models.config import (
    DecoderConfig,
    LayerKind,
    LinearScaling,
    Llama3Scaling,
    Rope,
    RopeScaling,
    YarnScaling,
    yarn_attention_factor,
)
from runtime.models.fields import MOST_HEADS, MOST_LAYERS, MOST_POSITIONS, Fields

_ACTIVATIONS: dict[str, Activation] = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
_SLIDING, _FULL = "sliding_attention", "full_attention"


def decoder_from_hf(
    fields: Fields,
    *,
    family: str,
    layers: tuple[LayerKind, ...],
    tied_embeddings: bool = False,
    head_dim: int | None = None,
    activation_key: str = "hidden_act",
    activation: str = "silu",
) -> DecoderConfig:
    """The part of a config that families share; they replace what differs.

    Args:
        family: the adapter's name.
        layers: what `layer_kinds` made of the config.
        tied_embeddings, head_dim: the family's defaults where the config says nothing.
        activation_key, activation: the key of the activation, and what it means where it is absent.

    Raises:
        CheckpointError: a key is missing, malformed, or asks for what is not supported.
    """
    hidden_size, num_heads = fields.count("hidden_size"), fields.count("num_attention_heads", maximum=MOST_HEADS)
    num_kv_heads = fields.count("num_key_value_heads", num_heads)
    if num_heads % num_kv_heads:
        fields.refuse("num_key_value_heads", f"a divisor of num_attention_heads, {num_heads}")
    head_dim = fields.count("head_dim", head_dim or max(1, hidden_size // num_heads))
    if head_dim % 2:
        fields.refuse("head_dim", "an even number")
    activation = fields.text(activation_key, activation)
    if activation not in _ACTIVATIONS:
        fields.refuse(activation_key, ", ".join(_ACTIVATIONS))
    return DecoderConfig(
        family=family,
        vocab_size=fields.count("vocab_size"),
        hidden_size=hidden_size,
        intermediate_size=fields.count("intermediate_size"),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        layers=layers,
        max_positions=_max_positions(fields, layers),
        norm_eps=fields.number("rms_norm_eps", 1e-6),
        activation=_ACTIVATIONS[activation],
        attention_scale=head_dim**-0.5,
        tied_embeddings=fields.flag("tie_word_embeddings", tied_embeddings),
    )


def layer_kinds(
    fields: Fields, full: Rope, sliding: Rope, window: int | None, is_sliding: Callable[[int], bool]
) -> tuple[LayerKind, ...]:
    """One kind a layer: as `layer_types` says, or by the family's rule where the config does not list them.

    Args:
        full, sliding: the rotary embeddings of either kind.
        window: of sliding layers; None where the model has none, whatever the list says.
        is_sliding: the family's rule, from a layer's index.
    """
    num_layers = fields.count("num_hidden_layers", maximum=MOST_LAYERS)
    types = [_SLIDING if is_sliding(index) else _FULL for index in range(num_layers)]
    if fields.has("layer_types"):
        types = fields.texts("layer_types")
        if len(types) != num_layers or not set(types) <= {_SLIDING, _FULL}:
            fields.refuse("layer_types", f"{num_layers} entries, each {_SLIDING} or {_FULL}")
    if window is None:
        return (LayerKind(full),) * num_layers
    return tuple(LayerKind(sliding, window) if kind == _SLIDING else LayerKind(full) for kind in types)


def rope_from_hf(fields: Fields, layer_type: str = "", base_key: str = "rope_theta", base: float = 10_000.0) -> Rope:
    """The rotary embedding, of layers of `layer_type` where a config distinguishes them.

    Args:
        base_key: the old spelling's key for the base, beside `rope_scaling`.
        base: the base where the config states none.
    """
    table = fields.table("rope_parameters")
    if layer_type and table.has(layer_type):
        table = table.table(layer_type)
    elif not table.values and layer_type != _SLIDING:
        table = fields.table("rope_scaling")
    for holder in (fields, table):
        holder.must_be("partial_rotary_factor", 1.0)
    base = table.number("rope_theta", fields.number(base_key, base))
    kind_key = "rope_type" if table.has("rope_type") or not table.has("type") else "type"
    read = _SCALINGS.get(table.text(kind_key, "default"))
    if read is None:
        table.refuse(kind_key, ", ".join(_SCALINGS))
    return Rope(base, read(table, fields))


def _max_positions(fields: Fields, layers: tuple[LayerKind, ...]) -> int:
    """Configs with YaRN state either the original or the stretched length; the stretched one can be used."""
    stretched = [
        int(scaling.original_max_positions * scaling.factor)
        for scaling in {layer.rope.scaling for layer in layers}
        if isinstance(scaling, YarnScaling)
    ]
    return max([fields.count("max_position_embeddings", maximum=MOST_POSITIONS), *stretched])


def _original_max_positions(table: Fields, fields: Fields) -> int:
    return table.count(
        "original_max_position_embeddings",
        fields.count("max_position_embeddings", maximum=MOST_POSITIONS),
        maximum=MOST_POSITIONS,
    )


def _llama3(table: Fields, fields: Fields) -> RopeScaling:
    return Llama3Scaling(
        factor=table.number("factor"),
        low_freq_factor=table.number("low_freq_factor"),
        high_freq_factor=table.number("high_freq_factor"),
        original_max_positions=_original_max_positions(table, fields),
    )


def _yarn(table: Fields, fields: Fields) -> RopeScaling:
    """Where a config has two weights for the attention factor, it is the ratio of what they give."""
    original = _original_max_positions(table, fields)
    factor = table.number("factor", fields.count("max_position_embeddings", maximum=MOST_POSITIONS) / original)
    attention_factor = yarn_attention_factor(factor)
    if table.has("mscale") and table.has("mscale_all_dim"):
        attention_factor = yarn_attention_factor(factor, table.number("mscale"))
        attention_factor /= yarn_attention_factor(factor, table.number("mscale_all_dim"))
    return YarnScaling(
        factor=factor,
        original_max_positions=original,
        attention_factor=table.number("attention_factor", attention_factor),
        beta_fast=table.number("beta_fast", 32.0),
        beta_slow=table.number("beta_slow", 1.0),
        truncate=table.flag("truncate", True),
    )


_SCALINGS: dict[str, Callable[[Fields, Fields], RopeScaling | None]] = {
    "default": lambda _table, _fields: None,
    "linear": lambda table, _fields: LinearScaling(table.number("factor")),
    "llama3": _llama3,
    "yarn": _yarn,
}
