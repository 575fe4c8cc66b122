"""Tensors and config must belong together, whichever format they come in, and only tensors that matter are loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from decoder_driver import DecoderDriver
from gguf_references import gguf_config, write_gguf
from reference_decoders import build_reference, random_config, reference_logits, save_reference
from safetensors.torch import load_file, save_file
from torch import Tensor

from runtime.errors import CheckpointError
from runtime.models.checkpoint import open_checkpoint
from runtime.models.decoder import Decoder
from runtime.models.loader import read_decoder
from runtime.models.reading import LoadProgress

torch.set_num_threads(1)
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture
def reference() -> Any:
    config = random_config("llama", 0)
    config.tie_word_embeddings = True
    return build_reference(config, 0)


@pytest.fixture
def folder(reference: Any, tmp_path: Path) -> Path:
    return save_reference(reference, tmp_path)


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def change_config(folder: Path, **changes: object) -> None:
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))


def read(path: Path, dtype: torch.dtype = torch.float32) -> Decoder:
    return read_decoder(open_checkpoint(path), dtype)


def test_a_missing_tensor_is_named(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.pop("model.layers.1.mlp.up_proj.weight"))
    with pytest.raises(CheckpointError, match=r"tensor 'model.layers.1.mlp.up_proj.weight' is missing"):
        read(folder)


def test_a_tensor_of_another_shape_is_named_with_both_shapes(folder: Path) -> None:
    def cut(tensors: dict[str, Tensor]) -> None:
        tensors["model.norm.weight"] = tensors["model.norm.weight"][:-1].clone()

    change_tensors(folder, cut)
    size = json.loads((folder / "config.json").read_text())["hidden_size"]
    with pytest.raises(
        CheckpointError, match=rf"'model.norm.weight' has the shape \[{size - 1}\], .*asks for \[{size}\]"
    ):
        read(folder)


def test_a_tensor_that_would_change_the_result_is_not_ignored(folder: Path) -> None:
    def add(tensors: dict[str, Tensor]) -> None:
        tensors["model.layers.0.self_attn.q_norm.weight"] = torch.ones(8)

    change_tensors(folder, add)
    with pytest.raises(
        CheckpointError, match=r"'model.layers.0.self_attn.q_norm.weight' has no place in the llama model"
    ):
        read(folder)


def test_a_config_of_absurd_size_is_refused_before_anything_is_reserved(folder: Path) -> None:
    change_config(folder, hidden_size=1 << 20, intermediate_size=1 << 20, vocab_size=1 << 20, head_dim=1 << 20)
    with pytest.raises(CheckpointError, match=r"has the shape .* asks for"):
        read(folder)


def test_an_absent_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"absent.gguf: no such file or folder"):
        open_checkpoint(tmp_path / "absent.gguf")


def test_repeated_heads_and_stored_frequencies_change_nothing(reference: Any, folder: Path) -> None:
    def add(tensors: dict[str, Tensor]) -> None:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
        tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)

    change_tensors(folder, add)
    logits = DecoderDriver(read(folder)).step({0: TOKENS})[0]
    torch.testing.assert_close(logits, reference_logits(reference, TOKENS), atol=1e-4, rtol=0)


def test_shards_read_like_one_file(reference: Any, tmp_path: Path) -> None:
    reference.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    logits = DecoderDriver(read(tmp_path)).step({0: TOKENS})[0]
    torch.testing.assert_close(logits, reference_logits(reference, TOKENS), atol=1e-4, rtol=0)


def test_gguf_tensors_are_checked_against_the_metadata_too(tmp_path: Path) -> None:
    model = build_reference(gguf_config("qwen2", 0), 0)
    model.config.intermediate_size += 8
    with pytest.raises(CheckpointError, match=r"model.gguf: tensor 'blk.0.ffn_gate.weight' has the shape"):
        read(write_gguf(model, tmp_path / "model.gguf"))


def test_tied_head_is_the_embedding_itself(folder: Path) -> None:
    weights = read(folder).weights
    assert weights.head.data_ptr() == weights.embedding.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_products_run_in_the_dtype_that_was_asked_for(folder: Path, dtype: torch.dtype) -> None:
    model = read(folder, dtype)
    assert model.dtype == model.weights.layers[0].qkv[0].dtype == dtype
    logits = DecoderDriver(model).step({0: TOKENS})[0]
    assert logits.dtype == torch.float32
    assert logits.isfinite().all()


def test_progress_counts_every_tensor_and_ends_at_the_total(folder: Path) -> None:
    seen: list[LoadProgress] = []
    read_decoder(open_checkpoint(folder), torch.float16, progress=seen.append)
    assert [step.tensors for step in seen] == list(range(1, seen[0].total_tensors + 1))
    assert seen[-1].nbytes == seen[-1].total_nbytes
    assert sorted(step.nbytes for step in seen) == [step.nbytes for step in seen]
