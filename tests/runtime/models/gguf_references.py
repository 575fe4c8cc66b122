"""Writes a `transformers` model as a GGUF file, by the tables and the writer of the `gguf` package."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gguf
import numpy as np
import torch
from reference_decoders import Config, random_config
from torch import Tensor

_ARCHITECTURES = {
    "llama": gguf.MODEL_ARCH.LLAMA,
    "mistral": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "qwen3": gguf.MODEL_ARCH.QWEN3,
    "gemma2": gguf.MODEL_ARCH.GEMMA2,
    "gemma3_text": gguf.MODEL_ARCH.GEMMA3,
}


def gguf_config(family: str, seed: int) -> Config:
    """A random configuration that GGUF can express: it has no mixed windows for Qwen, and neither a free
    scale nor a head of its own for Gemma.
    """
    config = random_config(family, seed)
    settings = config.to_dict()
    if family.startswith("qwen"):
        settings |= {"use_sliding_window": False, "layer_types": None}
    if family.startswith("gemma"):
        settings |= {"query_pre_attn_scalar": config.head_dim, "tie_word_embeddings": True}
    return type(config)(**settings)


def write_gguf(model: Any, path: Path, types: Mapping[str, gguf.GGMLQuantizationType] = MappingProxyType({})) -> Path:
    """The model's file, in float32 but for matrices whose name without layer and kind, such as `attn_q`, has a type."""
    config = model.config
    architecture = _ARCHITECTURES[config.model_type]
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    _add_sizes(writer, config)
    _add_rope(writer, config, model)
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        stem, _, kind = name.rpartition(".")
        values, stored_name = _converted(config, stem, weight).numpy().copy(), names.get_name(stem)
        quantised = types.get(stored_name.rpartition(".")[2]) if kind == "weight" else None
        if quantised is not None:
            values = gguf.quantize(values, quantised)
        writer.add_tensor(f"{stored_name}.{kind}", values, raw_dtype=quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_sizes(writer: gguf.GGUFWriter, config: Config) -> None:
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if config.model_type.startswith("gemma"):
        writer.add_token_list([str(token) for token in range(config.vocab_size)])
    else:
        writer.add_vocab_size(config.vocab_size)
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    if getattr(config, "attn_logit_softcapping", None):
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
    if getattr(config, "final_logit_softcapping", None):
        writer.add_final_logit_softcapping(config.final_logit_softcapping)


def _add_rope(writer: gguf.GGUFWriter, config: Config, model: Any) -> None:
    rope = config.rope_parameters
    if "full_attention" in rope:
        writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    writer.add_rope_freq_base(rope["rope_theta"])
    match rope["rope_type"]:
        case "linear":
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(rope["factor"])
        case "yarn":
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(rope["factor"])
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            writer.add_rope_scaling_yarn_beta_fast(rope.get("beta_fast") or 32.0)
            writer.add_rope_scaling_yarn_beta_slow(rope.get("beta_slow") or 1.0)
            plain = 0.1 * math.log(rope["factor"]) + 1.0
            writer.add_rope_scaling_attn_factors(model.model.rotary_emb.attention_scaling / plain)
        case "llama3":
            frequencies = model.model.rotary_emb.inv_freq
            plain = rope["rope_theta"] ** -(torch.arange(0, config.head_dim, 2) / config.head_dim)
            writer.add_tensor("rope_freqs.weight", (plain / frequencies).numpy().astype(np.float32))


def _converted(config: Config, stem: str, weight: Tensor) -> Tensor:
    """What llama.cpp's converter does to some weights."""
    if config.model_type in ("llama", "mistral") and stem.endswith(("q_proj", "k_proj")):
        halves = weight.unflatten(0, (-1, 2, config.head_dim // 2))
        return halves.transpose(1, 2).flatten(0, 2)
    return weight + 1.0 if config.model_type.startswith("gemma") and stem.endswith("norm") else weight
