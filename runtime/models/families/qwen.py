"""Qwen2 (biases on queries, keys and values) and Qwen3 (norms on queries and keys instead)."""

from __future__ import annotations

from dataclasses import replace

from runtime.models.config import DecoderConfig, LayerKind
from runtime.models.fields import Fields
from runtime.models.gguf_config import decoder_from_gguf, uniform_layers
from runtime.models.hf_config import decoder_from_hf, layer_kinds, rope_from_hf
from runtime.models.registry import Adapter, register


def _hf_layers(fields: Fields) -> tuple[LayerKind, ...]:
    """The first `max_window_layers` see everything, the others a window, where windows are switched on at all."""
    rope = rope_from_hf(fields)
    window = fields.count("sliding_window", 4096) if fields.flag("use_sliding_window", False) else None
    first_sliding = fields.count("max_window_layers", 28, minimum=0)
    return layer_kinds(fields, rope, rope, window, lambda index: index >= first_sliding)


def _qwen2_from_hf(fields: Fields) -> DecoderConfig:
    return replace(decoder_from_hf(fields, family="qwen2", layers=_hf_layers(fields)), qkv_bias=True)


def _qwen3_from_hf(fields: Fields) -> DecoderConfig:
    attention_bias = fields.flag("attention_bias", False)
    return replace(
        decoder_from_hf(fields, family="qwen3", layers=_hf_layers(fields), head_dim=128),
        qkv_bias=attention_bias,
        output_bias=attention_bias,
        qk_norm=True,
    )


def _qwen2_from_gguf(fields: Fields) -> DecoderConfig:
    return replace(decoder_from_gguf(fields, family="qwen2", layers=uniform_layers(fields)), qkv_bias=True)


def _qwen3_from_gguf(fields: Fields) -> DecoderConfig:
    return replace(decoder_from_gguf(fields, family="qwen3", layers=uniform_layers(fields)), qk_norm=True)


register(Adapter(names=("qwen2",), from_hf=_qwen2_from_hf, from_gguf=_qwen2_from_gguf))
register(Adapter(names=("qwen3",), from_hf=_qwen3_from_hf, from_gguf=_qwen3_from_gguf))
