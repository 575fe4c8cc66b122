"""A quantised checkpoint gives the same model whether its matrices stay packed or are decoded while they are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from decoder_driver import DecoderDriver
from gguf_references import write_gguf
from reference_decoders import build_reference, save_reference
from safetensors.torch import load_file, save_file
from torch import Tensor

from benchmarks.requantize import write_checkpoint
from benchmarks.weight_recipes import RECIPES, recipe
from runtime.errors import CheckpointError
from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.checkpoint import open_checkpoint
from runtime.models.decoder import Decoder
from runtime.models.loader import read_decoder
from runtime.models.reading import LoadProgress

torch.set_num_threads(1)
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
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
Q8, Q5, Q4 = Types.Q8_0, Types.Q5_1, Types.Q4_0


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reference(build_reference(CONFIG, 1), tmp_path_factory.mktemp("plain"))


def logits(model: Decoder) -> Tensor:
    return DecoderDriver(model).step({0: TOKENS})[0]


def read(path: Path, *, keep_packed: bool) -> Decoder:
    return read_decoder(open_checkpoint(path), torch.float32, keep_packed=keep_packed)


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def change_quantization(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what config.json says; nothing is said where nothing is left."""
    config = json.loads((folder / "config.json").read_text())
    change(config["quantization_config"])
    config["quantization_config"] = config["quantization_config"] or None
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("name", [each.name for each in RECIPES])
def test_every_format_is_read_as_the_weights_that_it_means(name: str, plain: Path, tmp_path: Path) -> None:
    """The oracle is a folder of plain float32 that holds the rounded weights.

    All but compressed-tensors' NVFP4, whose global scale is stored as its reciprocal, are the same to the last bit.
    """
    rounded = tmp_path / "rounded"
    rounded.mkdir()
    (rounded / "config.json").write_text((plain / "config.json").read_text())
    write_checkpoint(open_checkpoint(plain), recipe(name), tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    tensors = load_file(plain / "model.safetensors")
    for tensor_name, tensor in tensors.items():
        kept = stored.get(tensor_name)
        if kept is not None and kept.dtype == torch.float16:
            tensors[tensor_name] = kept.float()
        else:
            tensors[tensor_name] = recipe(name).quantize(tensor).dequantize(torch.float32)
    save_file(tensors, rounded / "model.safetensors", {"format": "pt"})

    decoded, packed = read(tmp_path, keep_packed=False), read(tmp_path, keep_packed=True)

    tolerance = 1e-5 if name == "nvfp4_compressed" else 0
    expected = logits(read(rounded, keep_packed=False))
    torch.testing.assert_close(logits(decoded), expected, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(logits(packed), logits(decoded), atol=1e-5, rtol=1e-5)
    layer = packed.weights.layers[1]
    assert isinstance(layer.gate_up[-1], PackedMatrix)
    assert isinstance(layer.down, PackedMatrix) != (name == "gptq_int2_v2")
    assert isinstance(packed.weights.head, Tensor)


def test_parts_of_one_format_are_one_matrix_and_others_are_several(plain: Path, tmp_path: Path) -> None:
    """Matrices whose columns were ordered each in its own way, or that have scales of their own, stay apart."""
    stacks = {}
    for name in ("awq_int4", "fp8_tensor", "gptq_int4_v2_act_order", "nvfp4_modelopt"):
        folder = tmp_path / name
        folder.mkdir()
        write_checkpoint(open_checkpoint(plain), recipe(name), folder)
        stacks[name] = len(read(folder, keep_packed=True).weights.layers[0].qkv)
    assert stacks == {"awq_int4": 1, "fp8_tensor": 1, "gptq_int4_v2_act_order": 3, "nvfp4_modelopt": 3}


GGUF_TYPES = {
    "one type": dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_gate", "ffn_down"), Q8),
    "values of another": {"attn_q": Q4, "attn_k": Q4, "attn_v": Q8, "ffn_gate": Q5, "ffn_up": Q5, "ffn_down": Q4},
    "values plain": {"attn_q": Q4, "attn_k": Q4, "token_embd": Q8, "output": Q8},
}


@pytest.mark.parametrize(
    ("what", "qkv", "gate_up"), [("one type", 1, 1), ("values of another", 3, 1), ("values plain", 3, 1)]
)
def test_blocks_of_a_gguf_file_stay_as_they_are(what: str, qkv: int, gate_up: int, tmp_path: Path) -> None:
    """Also those of queries and keys, whose rows are reordered, and of the embedding."""
    path = write_gguf(build_reference(CONFIG, 2), tmp_path / "model.gguf", GGUF_TYPES[what])
    decoded, packed = read(path, keep_packed=False), read(path, keep_packed=True)
    torch.testing.assert_close(logits(packed), logits(decoded), atol=1e-5, rtol=1e-5)
    layer = packed.weights.layers[0]
    assert (len(layer.qkv), len(layer.gate_up)) == (qkv, gate_up)
    assert isinstance(layer.qkv[0], PackedMatrix)
    assert isinstance(packed.weights.embedding, PackedMatrix) == ("token_embd" in GGUF_TYPES[what])


def test_a_tied_head_is_the_packed_embedding(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(**{**CONFIG.to_dict(), "tie_word_embeddings": True})
    path = write_gguf(build_reference(config, 3), tmp_path / "model.gguf", {"token_embd": Q8})
    model = read(path, keep_packed=True)
    assert isinstance(model.weights.head, PackedMatrix)
    assert model.weights.head is model.weights.embedding
    torch.testing.assert_close(logits(model), logits(read(path, keep_packed=False)), atol=1e-5, rtol=1e-5)


def test_progress_counts_what_stays_packed_as_it_is_in_the_file(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("awq_int4"), tmp_path)
    seen: list[LoadProgress] = []
    read_decoder(open_checkpoint(tmp_path), torch.float32, progress=seen.append, keep_packed=True)
    assert [step.tensors for step in seen] == list(range(1, seen[0].total_tensors + 1))
    assert seen[-1].nbytes == seen[-1].total_nbytes
    decoded: list[LoadProgress] = []
    read_decoder(open_checkpoint(tmp_path), torch.float32, progress=decoded.append)
    assert seen[-1].total_nbytes < 0.6 * decoded[-1].total_nbytes


def test_a_bias_that_is_zero_is_no_bias(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("gptq_int4_v1"), tmp_path)
    expected = logits(read(tmp_path, keep_packed=False))
    name = "model.layers.0.mlp.up_proj.bias"
    change_tensors(tmp_path, lambda tensors: tensors.update({name: torch.zeros(256).half()}))
    assert torch.equal(logits(read(tmp_path, keep_packed=False)), expected)
    change_tensors(tmp_path, lambda tensors: tensors.update({name: torch.ones(256).half()}))
    with pytest.raises(CheckpointError, match=r"up_proj\.bias' has no place"):
        read(tmp_path, keep_packed=False)


def test_scales_of_activations_change_nothing(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("fp8_tensor"), tmp_path)
    name = "model.layers.0.mlp.up_proj.input_scale"
    change_tensors(tmp_path, lambda tensors: tensors.update({name: torch.ones(())}))
    read(tmp_path, keep_packed=True)


UP = "model.layers.1.mlp.up_proj"
DAMAGES: dict[str, tuple[Callable[[dict[str, Tensor]], object], str]] = {
    "missing": (lambda tensors: tensors.pop(f"{UP}.qzeros"), f"'{UP}.qzeros' is missing"),
    "of another shape": (lambda tensors: tensors.update({f"{UP}.scales": torch.ones(3, 3)}), r"shape \[3, 3\]"),
    "of another dtype": (lambda tensors: tensors.update({f"{UP}.scales": torch.ones(2, 256).char()}), "holds int8"),
    "not finite": (lambda tensors: tensors[f"{UP}.scales"].fill_(float("inf")), "no finite float16"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_matrix_is_named_with_its_folder(what: str, plain: Path, tmp_path: Path) -> None:
    damage, problem = DAMAGES[what]
    write_checkpoint(open_checkpoint(plain), recipe("awq_int4"), tmp_path)
    change_tensors(tmp_path, damage)
    with pytest.raises(CheckpointError, match=rf"{tmp_path}.*{UP}.*") as error:
        read(tmp_path, keep_packed=True)
    assert problem.replace("\\", "") in str(error.value)


def test_columns_in_activation_order_need_their_groups(plain: Path, tmp_path: Path) -> None:
    """Without them a matrix loads, and means nothing. A `g_idx` that says what is so without it is as good as any."""
    write_checkpoint(open_checkpoint(plain), recipe("gptq_int4_v2_act_order"), tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.pop(f"{UP}.g_idx"))
    with pytest.raises(CheckpointError, match=rf"'{UP}\.g_idx' is missing.*desc_act is True"):
        read(tmp_path, keep_packed=True)
    change_tensors(tmp_path, lambda tensors: tensors.update({f"{UP}.g_idx": torch.arange(128).int() // 64}))
    read(tmp_path, keep_packed=True)
    change_quantization(tmp_path, lambda quantization: quantization.update(desc_act=False))
    read(tmp_path, keep_packed=True)


Quantization = dict[str, Any]
CONTRADICTIONS: dict[str, tuple[str, Callable[[Quantization], object], list[str]]] = {
    "no quantisation": (
        "awq_int4",
        lambda found: found.clear(),
        ["is stored as qweight, qzeros, scales", "asks for weight"],
    ),
    "left out": (
        "awq_int4",
        lambda found: found.update(modules_to_not_convert=["up_proj"]),
        ["up_proj is stored as qweight, qzeros, scales", "modules_to_not_convert names 'up_proj'"],
    ),
    "codes that could be floats": (
        "fp8_tensor",
        lambda found: found["ignore"].append("*up_proj"),
        ["up_proj is stored as weight, weight_scale, and the config asks for weight (", "ignore names '*up_proj'"],
    ),
    "not left out": (
        "nvfp4_compressed",
        lambda found: found.update(ignore=[]),
        ["lm_head is stored as weight, and the config asks for weight_packed, weight_scale", "num_bits is 4"],
    ),
    "blocks that are not stated": (
        "fp8_block",
        lambda found: found.pop("weight_block_size"),
        ["is stored as weight, weight_scale_inv", "weight_block_size is not set"],
    ),
    "words of another name": (
        "mxfp4",
        lambda found: found.update(modules_to_not_convert=["down_proj"]),
        ["down_proj is stored as blocks, scales, and the config asks for weight ("],
    ),
    "no group": (
        "nvfp4_compressed",
        lambda found: found.update(config_groups={}),
        ["is stored as weight_global_scale, weight_packed, weight_scale", "config_groups: targets: there are none"],
    ),
    "a target that is no module": (
        "int8",
        lambda found: found["config_groups"]["group_0"].update(targets=["Lineaar"]),
        ["is stored as weight, weight_scale", "instead of 'Lineaar', did you mean 'Linear'?"],
    ),
    "no zero points": (
        "int4",
        lambda found: found["config_groups"]["group_0"]["weights"].update(symmetric=False),
        ["weight_zero_point' (one of 14) is missing", "symmetric is False"],
    ),
    "no order of columns": (
        "int4",
        lambda found: found["config_groups"]["group_0"]["weights"].update(actorder="group"),
        ["weight_g_idx' (one of 14) is missing", "actorder is 'group'"],
    ),
    "other bits": (
        "gptq_int4_v1",
        lambda found: found.update(bits=8),
        ["qweight' has the shape [16, 128], and the config asks for [32, 128]", "bits is 8", "correct the config"],
    ),
    "another group size": (
        "gptq_int4_v1",
        lambda found: found.update(group_size=128),
        ["qzeros' has the shape [2, 16], and the config asks for [1, 16]", "group_size is 128"],
    ),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_config_that_contradicts_the_tensors_is_told_by_its_settings(what: str, plain: Path, tmp_path: Path) -> None:
    name, change, parts = CONTRADICTIONS[what]
    write_checkpoint(open_checkpoint(plain), recipe(name), tmp_path)
    change_quantization(tmp_path, change)
    with pytest.raises(CheckpointError) as error:
        read(tmp_path, keep_packed=True)
    for part in (f"{tmp_path}: ", f"({tmp_path}/config.json: quantization_config", *parts):
        assert part in str(error.value)


def test_zero_points_that_are_not_asked_for_are_told_by_the_settings(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("int4"), tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.update({f"{UP}.weight_zero_point": torch.zeros(32, 4).int()}))
    with pytest.raises(CheckpointError, match=r"stored as .*weight_zero_point, and .*symmetric is not set"):
        read(tmp_path, keep_packed=True)


def test_scales_that_are_nothing_in_float16_are_refused(plain: Path, tmp_path: Path) -> None:
    """Else the matrix would become zero, and nobody would know."""
    write_checkpoint(open_checkpoint(plain), recipe("int8"), tmp_path)
    change_tensors(
        tmp_path, lambda found: found.update({f"{UP}.weight_scale": found[f"{UP}.weight_scale"].float() * 1e-9})
    )
    with pytest.raises(CheckpointError, match=rf"{UP}\.weight_scale: holds scales of .* at most, which float16 rounds"):
        read(tmp_path, keep_packed=True)


def test_a_group_size_that_no_format_has_is_refused_before_a_tensor_is_read(plain: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(plain), recipe("awq_int4"), tmp_path)
    change_quantization(tmp_path, lambda quantization: quantization.update(group_size=48))
    with pytest.raises(CheckpointError, match=r"q_proj: groups of 48 .*another format or group size"):
        read(tmp_path, keep_packed=True)
