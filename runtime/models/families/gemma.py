"""Gemma 2 and Gemma 3 (text): norms around both sides of each branch, and scaled embeddings.

Gemma 2 caps its scores and logits; Gemma 3 normalises queries and keys instead, and rotates windowed layers by a
shorter base.
"""

from __future__ import annotations

from dataclasses import replace

from runtime.config import Defaults
from runtime.models.config import DecoderConfig, LayerKind, Rope
from runtime.models.fields import MOST_LAYERS, Fields
from runtime.models.gguf_config import decoder_from_gguf, rope_from_gguf
from runtime.models.hf_config import decoder_from_hf, layer_kinds, rope_from_hf
from runtime.models.naming import HF_NAMES
from runtime.models.registry import Adapter, register

_GEMMA2_PERIOD, _GEMMA3_PERIOD = 2, 6
"""Every layer whose number, from 1, is a multiple of it sees all positions, the others a window."""

_HF_NAMES = {
    **HF_NAMES,
    "layer.attention_post_norm": "model.layers.{layer}.post_attention_layernorm",
    "layer.mlp_norm": "model.layers.{layer}.pre_feedforward_layernorm",
    "layer.mlp_post_norm": "model.layers.{layer}.post_feedforward_layernorm",
}
_RESIDUAL = (
    "float32",
    "the residual stream of this family outgrows float16: it reaches 103,795 in Gemma 3 270M, and 65,504 is the limit",
)
_DEFAULTS = Defaults("gemma", {"model.residual_dtype": _RESIDUAL})


def _gemma2_from_hf(fields: Fields) -> DecoderConfig:
    rope = rope_from_hf(fields)
    window = fields.optional_count("sliding_window")
    layers = layer_kinds(fields, rope, rope, window, lambda index: _is_sliding(index, _GEMMA2_PERIOD))
    return _from_hf(fields, "gemma2", layers)


def _gemma3_from_hf(fields: Fields) -> DecoderConfig:
    fields.must_be_absent("vision_config", "Use a checkpoint of its text model alone, or a GGUF file of it")
    full = rope_from_hf(fields, "full_attention", base=1_000_000.0)
    sliding = rope_from_hf(fields, "sliding_attention", "rope_local_base_freq")
    window = fields.optional_count("sliding_window")
    period = fields.count("sliding_window_pattern", _GEMMA3_PERIOD)
    layers = layer_kinds(fields, full, sliding, window, lambda index: _is_sliding(index, period))
    return replace(_from_hf(fields, "gemma3", layers), qk_norm=True)


def _from_hf(fields: Fields, family: str, layers: tuple[LayerKind, ...]) -> DecoderConfig:
    fields.must_be("use_bidirectional_attention", False)
    attention_bias = fields.flag("attention_bias", False)
    config = decoder_from_hf(
        fields,
        family=family,
        layers=layers,
        tied_embeddings=True,
        head_dim=256,
        activation_key="hidden_activation",
        activation="gelu_pytorch_tanh",
    )
    return replace(
        _as_gemma(config),
        attention_scale=fields.number("query_pre_attn_scalar", 256) ** -0.5,
        attention_softcap=fields.optional_number("attn_logit_softcapping"),
        final_softcap=fields.optional_number("final_logit_softcapping"),
        qkv_bias=attention_bias,
        output_bias=attention_bias,
    )


def _gemma2_from_gguf(fields: Fields) -> DecoderConfig:
    rope = rope_from_gguf(fields)
    layers = _gguf_layers(fields, rope, rope, _GEMMA2_PERIOD)
    return replace(
        _from_gguf(fields, "gemma2", layers, largest_depth=46),
        attention_softcap=fields.number("attn_logit_softcapping", 50.0),
        final_softcap=fields.number("final_logit_softcapping", 30.0),
    )


def _gemma3_from_gguf(fields: Fields) -> DecoderConfig:
    sliding = Rope(fields.number("rope.freq_base_swa", 10_000.0))
    layers = _gguf_layers(fields, rope_from_gguf(fields), sliding, _GEMMA3_PERIOD)
    return replace(
        _from_gguf(fields, "gemma3", layers, largest_depth=62),
        final_softcap=fields.optional_number("final_logit_softcapping"),
        qk_norm=True,
    )


def _from_gguf(fields: Fields, family: str, layers: tuple[LayerKind, ...], largest_depth: int) -> DecoderConfig:
    """GGUF files do not state the scale of scores. The family's largest model, known by its depth, has its own."""
    config = replace(_as_gemma(decoder_from_gguf(fields, family=family, layers=layers)), activation="gelu_tanh")
    if len(layers) == largest_depth:
        config = replace(config, attention_scale=(config.hidden_size / config.num_heads) ** -0.5)
    return config


def _as_gemma(config: DecoderConfig) -> DecoderConfig:
    return replace(config, embedding_scale=config.hidden_size**0.5, post_norms=True)


def _gguf_layers(fields: Fields, full: Rope, sliding: Rope, period: int) -> tuple[LayerKind, ...]:
    window = fields.count("attention.sliding_window")
    period = fields.count("attention.sliding_window_pattern", period)
    kinds = (
        LayerKind(sliding, window) if _is_sliding(index, period) else LayerKind(full)
        for index in range(fields.count("block_count", maximum=MOST_LAYERS))
    )
    return tuple(kinds)


def _is_sliding(index: int, period: int) -> bool:
    return (index + 1) % period != 0


for _names, _hf, _gguf in (
    (("gemma2",), _gemma2_from_hf, _gemma2_from_gguf),
    (("gemma3", "gemma3_text"), _gemma3_from_hf, _gemma3_from_gguf),
):
    register(
        Adapter(
            names=_names,
            from_hf=_hf,
            from_gguf=_gguf,
            hf_names=_HF_NAMES,
            hf_norms_less_one=True,
            defaults=_DEFAULTS,
        )
    )
