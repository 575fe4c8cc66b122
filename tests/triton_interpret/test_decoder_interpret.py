"""A whole decoder over Triton's operators says what it says over the reference's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig
from runtime.kernels.operators import REFERENCE, Operators, operators_for
from runtime.models.checkpoint import open_checkpoint
from runtime.models.loader import read_decoder
from runtime.platforms import current

BLOCK_SIZE = 4
SIZES = {
    "vocab_size": 61,
    "hidden_size": 48,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 32,
}
CONFIGS = {
    "biases": transformers.LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=False),
    "norms": transformers.Gemma3TextConfig(**SIZES, sliding_window=4, tie_word_embeddings=True),
}


def logits(folder: Path, operators: Operators, residual: torch.dtype, codec: str) -> Tensor:
    """Of a prompt of five tokens and one token after it, [6, vocab]."""
    model = read_decoder(open_checkpoint(folder), torch.float16, residual, operators=operators)
    cache = PagedKVCache(model.layers, 2, BLOCK_SIZE, codec, dtype=torch.float16, operators=operators)
    attention = Attention(model.layers, cache, current("cpu"), AttentionConfig())
    rows = []
    for start, tokens in ((0, [5, 7, 11, 13, 17]), (5, [19])):
        batch = AttentionBatch.build([[1, 0]], [start], [len(tokens)], BLOCK_SIZE)
        attention.begin(batch)
        rows.append(model.logits(model.forward(torch.tensor(tokens), batch.positions, attention)))
    return torch.cat(rows)


@pytest.mark.parametrize(
    ("config", "residual", "codec"),
    [("biases", torch.float16, "int8_g64"), ("norms", torch.float32, "fp16")],
)
def test_a_decoder_says_the_same(config: str, residual: torch.dtype, codec: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(CONFIGS[config]).save_pretrained(tmp_path)
    expected = logits(tmp_path, REFERENCE, residual, codec)
    found = logits(tmp_path, operators_for("sm70", "float16"), residual, codec)
    torch.testing.assert_close(found, expected, rtol=0, atol=2**-8 * float(expected.abs().max()))
