"""A random model of two small layers in Hugging Face's layout, with all that a real one brings."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

HEADS, KV_HEADS, HEAD_DIM, HIDDEN, LAYERS, MAX_POSITIONS = 4, 2, 16, 32, 2, 4096
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_MERGES = [("t", "h"), ("th", "e"), ("a", "n"), ("Ġ", "the")]
_SPECIAL = ["<|im_start|>", "<|im_end|>"]


def write_tiny_checkpoint(folder: Path, *, chat_template: str = CHAT_TEMPLATE, broken_layer: int | None = None) -> Path:
    """Write the checkpoint into `folder`.

    Greedily, the model only says letters, and never ends by itself: an answer is as long as it may be.

    Args:
        chat_template: "" for a model that brings none.
        broken_layer: a layer whose MLP gives NaN.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    tensors = _tensors(tokenizer)
    if broken_layer is not None:
        tensors[f"model.layers.{broken_layer}.mlp.down_proj.weight"][0, 0] = float("nan")
    save_file(tensors, folder / "model.safetensors")
    _write_json(folder / "tokenizer_config.json", {"eos_token": "<|im_end|>", "chat_template": chat_template or None})
    _write_json(folder / "config.json", _config(tokenizer.get_vocab_size()))
    return folder


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _config(vocab_size: int) -> dict[str, object]:
    return {
        "model_type": "llama",
        "vocab_size": vocab_size,
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": MAX_POSITIONS,
        "tie_word_embeddings": False,
    }


def _tokenizer() -> Tokenizer:
    """A byte-level BPE with a few merges and the control tokens of ChatML."""
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in _MERGES)]
    tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, _MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in _SPECIAL])
    return tokenizer


def _tensors(tokenizer: Tokenizer) -> dict[str, Tensor]:
    numbers = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=numbers) / shape[-1] ** 0.5

    tensors = {
        "model.embed_tokens.weight": torch.randn(tokenizer.get_vocab_size(), HIDDEN, generator=numbers),
        "model.norm.weight": torch.ones(HIDDEN),
        "lm_head.weight": _letters_only(tokenizer, numbers),
    }
    shapes = {
        "self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN),
        "self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
        "self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
        "mlp.gate_proj": (2 * HIDDEN, HIDDEN),
        "mlp.up_proj": (2 * HIDDEN, HIDDEN),
        "mlp.down_proj": (HIDDEN, 2 * HIDDEN),
    }
    for layer in range(LAYERS):
        tensors |= {f"model.layers.{layer}.{name}.weight": normal(*shape) for name, shape in shapes.items()}
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{layer}.{name}.weight"] = torch.ones(HIDDEN)
    return tensors


def _letters_only(tokenizer: Tokenizer, numbers: torch.Generator) -> Tensor:
    """A head whose rows are zero but for letters, which have a row and its opposite: one of the two is above zero."""
    head = torch.zeros(tokenizer.get_vocab_size(), HIDDEN)
    letters = [tokenizer.token_to_id(chr(code)) for code in range(ord("a"), ord("z") + 1)]
    rows = torch.randn(len(letters) // 2, HIDDEN, generator=numbers)
    head[letters] = torch.cat([rows, -rows])
    return head
