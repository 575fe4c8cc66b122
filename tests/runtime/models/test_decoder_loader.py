"""A folder becomes a model with its tokenizer and template, and parts of different models are not put together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from reference_decoders import VOCAB_SIZE, build_reference, random_config, save_reference
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from runtime.errors import CheckpointError
from runtime.models.loader import load_model

torch.set_num_threads(1)


def folder_with(tmp_path: Path, tokens: int) -> Path:
    """A small model, and a byte-level tokenizer of so many tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())[:tokens]
    tokenizer = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    settings = {"chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    return save_reference(build_reference(random_config("llama", 0), 0), tmp_path)


def test_a_folder_gives_model_tokenizer_and_template(tmp_path: Path) -> None:
    loaded = load_model(folder_with(tmp_path, VOCAB_SIZE), torch.float16, torch.float32)
    assert (loaded.model.dtype, loaded.model.residual_dtype) == (torch.float16, torch.float32)
    assert loaded.tokenizer.vocab_size == loaded.model.vocab_size
    assert loaded.chat_template.render([{"role": "user", "content": "ABC"}]) == "ABC"


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, VOCAB_SIZE + 1)
    with pytest.raises(
        CheckpointError, match=f"the tokenizer has {VOCAB_SIZE + 1} tokens, and the model only {VOCAB_SIZE}"
    ):
        load_model(folder, torch.float32)
