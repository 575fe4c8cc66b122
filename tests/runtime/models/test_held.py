"""What a checkpoint's matrices would be held as, against the weights that loading it gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import gguf
import pytest
import torch
import transformers
from gguf_references import write_gguf
from reference_decoders import build_reference, save_reference
from torch import Tensor

from benchmarks.requantize import write_checkpoint
from benchmarks.weight_recipes import RECIPES, recipe
from runtime.errors import CheckpointError
from runtime.formats.safetensors import SafetensorsCheckpoint
from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.checkpoint import open_checkpoint
from runtime.models.held import HeldMatrix, held_weights
from runtime.models.loader import read_decoder

CONFIG = transformers.LlamaConfig(
    vocab_size=97,
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    max_position_embeddings=64,
    tie_word_embeddings=False,
)
Types = gguf.GGMLQuantizationType
MIXED = {"attn_q": Types.Q4_0, "attn_k": Types.Q4_0, "attn_v": Types.Q8_0, "ffn_down": Types.Q5_1}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reference(build_reference(CONFIG, 1), tmp_path_factory.mktemp("plain"))


def loaded(matrix: Tensor | PackedMatrix) -> HeldMatrix:
    outputs, inputs = matrix.shape
    if isinstance(matrix, Tensor):
        return HeldMatrix(outputs, inputs, "dense", matrix.nbytes)
    order = matrix.parts["order"].nbytes if "order" in matrix.parts else 0
    return HeldMatrix(outputs, inputs, matrix.spec.name, matrix.nbytes - order, order)


def check_plan(path: Path) -> None:
    """In halves, the plan of every matrix is what the reader makes of it."""
    checkpoint = open_checkpoint(path)
    planned = held_weights(checkpoint)
    weights = read_decoder(checkpoint, torch.float16, keep_packed=True).weights
    assert planned.embedding == loaded(weights.embedding)
    assert planned.head == loaded(weights.head)
    for field in ("qkv", "output", "gate_up", "down"):
        fields = [getattr(layer, field) for layer in weights.layers]
        stacks = [each if isinstance(each, tuple) else (each,) for each in fields]
        assert planned.layers(field) == Counter(tuple(map(loaded, stack)) for stack in stacks)


@pytest.mark.parametrize("name", [each.name for each in RECIPES])
def test_a_folder_is_planned_as_it_is_loaded(name: str, plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe(name), tmp_path)
    check_plan(tmp_path)


def test_a_plain_folder_is_planned_as_it_is_loaded(plain: Path) -> None:
    check_plan(plain)


@pytest.mark.parametrize("types", [{}, MIXED, {**MIXED, "token_embd": Types.Q8_0, "output": Types.Q5_1}])
def test_a_gguf_file_is_planned_as_it_is_loaded(types: dict[str, Types], tmp_path: Path) -> None:
    check_plan(write_gguf(build_reference(CONFIG, 2), tmp_path / "model.gguf", types))


def test_codes_and_scales_are_not_read(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of many GiB is planned at once: only tensors by which matrices of one config differ are looked at."""
    write_checkpoint(open_checkpoint(plain), recipe("gptq_int4_v2_act_order"), tmp_path)
    planned, seen = held_weights(open_checkpoint(tmp_path)), set()
    read = SafetensorsCheckpoint.read

    def noted(self: SafetensorsCheckpoint, name: str) -> Tensor:
        seen.add(name.rpartition(".")[2])
        return read(self, name)

    monkeypatch.setattr(SafetensorsCheckpoint, "read", noted)
    planned.layers("qkv")
    assert seen == {"qzeros", "g_idx"}


def test_a_checkpoint_that_lacks_a_tensor_is_refused_as_when_it_is_loaded(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("awq_int4"), tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    with pytest.raises(CheckpointError, match=r"layers\.2.*is missing"):
        held_weights(open_checkpoint(tmp_path))


def test_what_is_decoded_when_it_is_read_is_held_as_halves(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("awq_int4"), tmp_path)
    weights = held_weights(open_checkpoint(tmp_path), packed=False)
    assert weights.layers("down") == {(HeldMatrix(128, 256, "dense", 2 * 128 * 256),): 2}


@pytest.mark.parametrize(("form", "table"), [("awq_int4", "dense"), ("gguf_q8_0", "gguf_q8_0"), ("dense", "dense")])
def test_as_if_leaves_table_and_head_as_quantised_checkpoints_do(form: str, table: str, plain: Path) -> None:
    weights = held_weights(open_checkpoint(plain), form)
    assert (weights.embedding.format, weights.head.format) == (table, table)
    assert [matrix.format for (matrix,) in weights.layers("down")] == [form]


@pytest.mark.parametrize("form", ["nvfp4", "fp8_tensor", "gptq_int4", "mxfp4"])
def test_as_if_keeps_a_fused_matrix_whole(form: str, plain: Path) -> None:
    ((stack, layers),) = held_weights(open_checkpoint(plain), form).layers("qkv").items()
    assert (len(stack), layers) == (1, 2)
