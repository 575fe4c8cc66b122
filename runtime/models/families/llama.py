"""Llama, and what is built like it: SmolLM (which says `llama`) and Mistral (which adds a sliding window)."""

from __future__ import annotations

from dataclasses import replace

from runtime.models.config import DecoderConfig
from runtime.models.fields import Fields
from runtime.models.gguf_config import decoder_from_gguf, uniform_layers
from runtime.models.hf_config import decoder_from_hf, layer_kinds, rope_from_hf
from runtime.models.registry import Adapter, register


def _llama_from_hf(fields: Fields) -> DecoderConfig:
    rope = rope_from_hf(fields)
    layers = layer_kinds(fields, rope, rope, None, lambda _index: False)
    attention_bias = fields.flag("attention_bias", False)
    return replace(
        decoder_from_hf(fields, family="llama", layers=layers),
        qkv_bias=attention_bias,
        output_bias=attention_bias,
        mlp_bias=fields.flag("mlp_bias", False),
    )


def _mistral_from_hf(fields: Fields) -> DecoderConfig:
    rope = rope_from_hf(fields)
    window = fields.optional_count("sliding_window")
    return decoder_from_hf(
        fields, family="mistral", layers=layer_kinds(fields, rope, rope, window, lambda _index: True)
    )


def _from_gguf(fields: Fields) -> DecoderConfig:
    return decoder_from_gguf(fields, family="llama", layers=uniform_layers(fields))


register(Adapter(names=("llama",), from_hf=_llama_from_hf, from_gguf=_from_gguf, gguf_rows_in_pairs=True))
register(Adapter(names=("mistral",), from_hf=_mistral_from_hf, from_gguf=_from_gguf, gguf_rows_in_pairs=True))
