"""What configs say is understood in every spelling, and what is not supported is refused by file and key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reference_decoders import FAMILIES, random_config

from runtime.errors import CheckpointError
from runtime.models.config import DecoderConfig, LayerKind, LinearScaling, Rope, YarnScaling
from runtime.models.fields import Fields
from runtime.models.registry import Adapter, adapter_for, register

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GGUF_LLAMA: dict[str, Any] = {
    "llama.block_count": 2,
    "llama.context_length": 64,
    "llama.embedding_length": 16,
    "llama.feed_forward_length": 24,
    "llama.attention.head_count": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.vocab_size": 32,
}


def from_hf(settings: dict[str, Any]) -> DecoderConfig:
    return adapter_for(settings["model_type"], "config.json").from_hf(Fields(settings, "config.json"))


def from_gguf(metadata: dict[str, Any], architecture: str = "llama") -> DecoderConfig:
    return adapter_for(architecture, "model.gguf").from_gguf(Fields(metadata, "model.gguf", f"{architecture}."))


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
@pytest.mark.parametrize("seed", range(5))
def test_old_and_new_spellings_of_rope_mean_the_same(family: str, seed: int) -> None:
    new = json.loads(random_config(family, seed).to_json_string(use_diff=False))
    rope = new["rope_parameters"]
    old = {key: value for key, value in new.items() if key != "rope_parameters"}
    old["rope_theta"] = rope["rope_theta"]
    scaling = {key: value for key, value in rope.items() if key != "rope_theta"}
    scaling["type"] = scaling.pop("rope_type")
    old["rope_scaling"] = None if scaling["type"] == "default" else scaling
    assert from_hf(old) == from_hf(new)


def test_old_spelling_of_two_bases_scales_only_layers_that_see_everything() -> None:
    settings = {
        **LLAMA,
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "sliding_window": 8,
        "rope_theta": 500.0,
        "rope_local_base_freq": 50.0,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }
    sliding, full = LayerKind(Rope(50.0), 8), LayerKind(Rope(500.0, LinearScaling(8.0)))
    assert from_hf(settings).layers == (sliding,) * 5 + (full,)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_config_reads_like_a_complete_one(family: str, tmp_path: Path) -> None:
    config = random_config(family, 1)
    config.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    assert from_hf(saved) == from_hf(json.loads(config.to_json_string(use_diff=False)))


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "gemma2", "gemma3"])
@pytest.mark.parametrize("seed", range(5))
def test_the_rule_of_a_family_says_which_layers_have_a_window(family: str, seed: int) -> None:
    settings = json.loads(random_config(family, seed).to_json_string(use_diff=False))
    assert from_hf({**settings, "layer_types": None}) == from_hf(settings)


def test_yarn_stretches_the_longest_context() -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
    config = from_hf({**LLAMA, "rope_scaling": scaling})
    assert isinstance(config.layers[0].rope.scaling, YarnScaling)
    assert config.max_positions == 256


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"hidden_act": "relu"}, ["hidden_act", "'relu'", "silu"]),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}, ["rope_scaling", "'longrope'", "yarn"]),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, ["rope_scaling: type", "'dynamic'", "llama3"]),
        ({"rope_scaling": {"type": "linear"}}, ["rope_scaling: factor is missing"]),
        ({"partial_rotary_factor": 0.5}, ["partial_rotary_factor", "0.5"]),
        ({"num_key_value_heads": 3}, ["num_key_value_heads", "divisor", "4"]),
        ({"head_dim": 7}, ["head_dim", "even"]),
        ({"hidden_size": None}, ["hidden_size is missing"]),
        ({"hidden_size": "16"}, ["hidden_size", "'16'", "whole number"]),
        ({"vocab_size": 0}, ["vocab_size", "0"]),
        ({"num_hidden_layers": 10**12}, ["num_hidden_layers", "1024"]),
        ({"num_hidden_layers": True}, ["num_hidden_layers", "True"]),
        ({"rms_norm_eps": float("nan")}, ["rms_norm_eps", "nan"]),
        ({"tie_word_embeddings": "yes"}, ["tie_word_embeddings", "true or false"]),
        ({"layer_types": ["full_attention"]}, ["layer_types", "2 entries"]),
        ({"layer_types": ["full_attention", "linear_attention"]}, ["layer_types", "sliding_attention"]),
        ({"rope_parameters": 3}, ["rope_parameters", "an object"]),
        ({"model_type": "gemma3", "vision_config": {}}, ["vision_config", "text model"]),
        ({"model_type": "gemma3", "use_bidirectional_attention": True}, ["use_bidirectional_attention", "False"]),
    ],
)
def test_an_unsupported_or_malformed_setting_is_named(changes: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(CheckpointError) as error:
        from_hf({**LLAMA, **changes})
    for part in ["config.json", *parts]:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"llama.expert_count": 8}, ["llama.expert_count", "8", "supported: 0"]),
        ({"llama.rope.scaling.type": "longrope", "llama.rope.scaling.factor": 2.0}, ["rope.scaling.type", "yarn"]),
        ({"llama.rope.dimension_count": 2}, ["llama.rope.dimension_count", "supported: 4"]),
        ({"llama.attention.value_length": 8}, ["llama.attention.value_length"]),
        ({"llama.attention.head_count_kv": [2, 1]}, ["llama.attention.head_count_kv", "[2, 1]"]),
        ({"llama.block_count": None}, ["llama.block_count is missing"]),
        ({"llama.vocab_size": None}, ["llama.vocab_size is missing"]),
    ],
)
def test_an_unsupported_or_malformed_metadata_key_is_named(changes: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(CheckpointError) as error:
        from_gguf({**GGUF_LLAMA, **changes})
    for part in ["model.gguf", *parts]:
        assert part in str(error.value)


def test_vocabulary_is_counted_where_a_gguf_file_does_not_state_its_size() -> None:
    metadata = {**GGUF_LLAMA, "llama.vocab_size": None, "tokenizer.ggml.tokens": ["a", "b", "c"]}
    assert from_gguf(metadata).vocab_size == 3


def test_the_largest_models_have_a_scale_of_their_own_in_gguf() -> None:
    """Source: `query_pre_attn_scalar` of google/gemma-2-27b (144) and google/gemma-3-27b-pt (168)."""
    for architecture, layers, hidden_size, heads, scalar in (
        ("gemma2", 46, 4608, 32, 144),
        ("gemma3", 62, 5376, 32, 168),
    ):
        metadata = {
            "block_count": layers,
            "context_length": 64,
            "embedding_length": hidden_size,
            "feed_forward_length": 24,
            "attention.head_count": heads,
            "attention.key_length": 128,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "attention.sliding_window": 16,
            "vocab_size": 32,
        }
        config = from_gguf({f"{architecture}.{key}": value for key, value in metadata.items()}, architecture)
        assert config.attention_scale == pytest.approx(scalar**-0.5)


def test_an_unknown_architecture_is_refused_with_what_is_supported() -> None:
    with pytest.raises(CheckpointError, match=r"config.json: architecture 'mamba' is not supported; .*llama.*qwen3"):
        adapter_for("mamba", "config.json")


def test_a_name_belongs_to_one_family() -> None:
    adapter_for("llama", "")
    unused: Callable[[Fields], DecoderConfig] = from_hf  # type: ignore[assignment]
    with pytest.raises(ValueError, match="'llama'"):
        register(Adapter(names=("llama",), from_hf=unused, from_gguf=unused))
