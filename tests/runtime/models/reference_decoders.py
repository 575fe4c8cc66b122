"""Small random models of every family, built by `transformers`, which is the oracle for this repository's decoder."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

Config = transformers.PreTrainedConfig
VOCAB_SIZE = 97


def random_config(family: str, seed: int) -> Config:
    """A configuration of `family`; the seed chooses its shape, and what of the family's options it uses."""
    choice = random.Random(f"{family}-{seed}")
    kv_heads = choice.choice([1, 2, 3])
    heads = kv_heads * choice.choice([1, 2, 4])
    sizes = {
        "vocab_size": VOCAB_SIZE,
        "num_hidden_layers": choice.choice([2, 3, 4]),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": choice.choice([8, 16, 24]),
        "hidden_size": heads * choice.choice([24, 32]),
        "intermediate_size": choice.choice([40, 56]),
        "max_position_embeddings": 64,
        "rms_norm_eps": choice.choice([1e-5, 1e-6]),
        "tie_word_embeddings": choice.random() < 0.5,
        "attn_implementation": "eager",
    }
    return _FAMILIES[family](choice, sizes)


def _rope(choice: random.Random) -> dict[str, Any]:
    base = {"rope_theta": choice.choice([100.0, 10_000.0])}
    variants: list[dict[str, Any]] = [
        {"rope_type": "default"},
        {"rope_type": "linear", "factor": 4.0},
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        {
            "rope_type": "yarn",
            "factor": 2.5,
            "original_max_position_embeddings": 24,
            "beta_fast": 16.0,
            "beta_slow": 2.0,
            "mscale": 1.0,
            "mscale_all_dim": 0.5,
        },
    ]
    return base | choice.choice(variants)


def _llama(choice: random.Random, sizes: dict[str, Any]) -> Config:
    return transformers.LlamaConfig(
        **sizes,
        rope_parameters=_rope(choice),
        attention_bias=choice.random() < 0.5,
        mlp_bias=choice.random() < 0.5,
    )


def _mistral(choice: random.Random, sizes: dict[str, Any]) -> Config:
    return transformers.MistralConfig(
        **sizes, rope_parameters=_rope(choice), sliding_window=choice.choice([None, 5, 11])
    )


def _qwen_windows(choice: random.Random) -> dict[str, Any]:
    return {
        "use_sliding_window": choice.random() < 0.7,
        "sliding_window": 7,
        "max_window_layers": choice.choice([0, 1]),
    }


def _qwen2(choice: random.Random, sizes: dict[str, Any]) -> Config:
    return transformers.Qwen2Config(**sizes, rope_parameters=_rope(choice), **_qwen_windows(choice))


def _qwen3(choice: random.Random, sizes: dict[str, Any]) -> Config:
    return transformers.Qwen3Config(
        **sizes, rope_parameters=_rope(choice), attention_bias=choice.random() < 0.5, **_qwen_windows(choice)
    )


def _gemma2(choice: random.Random, sizes: dict[str, Any]) -> Config:
    return transformers.Gemma2Config(
        **sizes,
        sliding_window=6,
        query_pre_attn_scalar=choice.choice([16, 30]),
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    )


def _gemma3(choice: random.Random, sizes: dict[str, Any]) -> Config:
    full = {"rope_type": "linear", "rope_theta": 5_000.0, "factor": 8.0}
    return transformers.Gemma3TextConfig(
        **(sizes | {"num_hidden_layers": 7}),
        sliding_window=choice.choice([4, 9]),
        query_pre_attn_scalar=choice.choice([16, 30]),
        rope_parameters={
            "full_attention": choice.choice([full, {"rope_type": "default", "rope_theta": 5_000.0}]),
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        },
        final_logit_softcapping=choice.choice([None, 3.0]),
    )


_FAMILIES: dict[str, Callable[[random.Random, dict[str, Any]], Config]] = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
}
FAMILIES = tuple(_FAMILIES)


def build_reference(config: Config, seed: int) -> Any:
    """A model of `config` in float32, whose weights are large enough to make every part of it felt."""
    generator = torch.Generator().manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.3
            parameter += scale * torch.randn(parameter.shape, generator=generator)
    return model


def save_reference(model: Any, folder: Path) -> Path:
    """The model's folder, in Hugging Face's layout."""
    model.save_pretrained(folder)
    return folder


@torch.no_grad()
def reference_logits(model: Any, tokens: list[int]) -> Tensor:
    """float32 [len(tokens), vocab]."""
    logits: Tensor = model(torch.tensor([tokens])).logits[0]
    return logits
