"""What a folder says about its quantisation decides each module's layout; what is not supported is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import CheckpointError
from runtime.formats.weights.awq import AWQLayout
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import COMPRESSED_MXFP4, COMPRESSED_NVFP4, GPT_OSS_MXFP4, MODELOPT_NVFP4
from runtime.formats.weights.float8 import Float8Layout
from runtime.formats.weights.gptq import GPTQLayout
from runtime.formats.weights.layout import CheckpointLayout
from runtime.formats.weights.packed_integer import IntegerLayout
from runtime.models.fields import Fields
from runtime.models.quantization import MODELOPT_FILE, Quantization, read_quantization

UP, Q, HEAD = "model.layers.3.mlp.up_proj", "model.layers.3.self_attn.q_proj", "lm_head"
INT4, INT8 = weight_format("int4"), weight_format("int8")
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "sym": True}


def read(config: dict[str, Any], folder: Path = Path("folder")) -> Quantization:
    quantization = read_quantization(folder, Fields({"quantization_config": config}, f"{folder}/config.json"))
    assert quantization is not None
    return quantization


def compressed(form: str, **weights: object) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None, "format": None}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        "kv_cache_scheme": None,
        "sparsity_config": {},
        "quantization_status": "compressed",
    }


STATED: dict[str, tuple[dict[str, Any], CheckpointLayout]] = {
    "awq": (
        {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"},
        AWQLayout(128),
    ),
    "awq of old": ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "zero_point": True}, AWQLayout(64)),
    "awq of now": (
        {"quant_method": "AWQ", "bits": 4, "group_size": 64, "q_group_size": 64, "version": "gemm", "format": "gemm"},
        AWQLayout(64),
    ),
    "gptq": ({**GPTQ, "desc_act": False}, GPTQLayout(weight_format("gptq_int4"), 128, 1)),
    "gptq in activation order": (GPTQ, GPTQLayout(weight_format("gptq_int4"), 128, 1, ordered=True)),
    "gptq whole rows": (
        {**GPTQ, "group_size": -1, "bits": 3, "desc_act": False},
        GPTQLayout(weight_format("gptq_int3"), 0, 1),
    ),
    "gptq v2": (
        {**GPTQ, "checkpoint_format": "gptq_v2", "format": "gptq_v2"},
        GPTQLayout(weight_format("gptq_int4"), 128, 0, ordered=True),
    ),
    "gptq v2 of now": (
        {**GPTQ, "format": "gptq_v2"},
        GPTQLayout(weight_format("gptq_int4"), 128, 0, ordered=True),
    ),
    "fp8 blocks": (
        {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
        Float8Layout(weight_format("fp8_block"), ".weight_scale_inv"),
    ),
    "fp8": ({"quant_method": "fp8", "activation_scheme": "static"}, Float8Layout(weight_format("fp8_tensor"))),
    "fbgemm": ({"quant_method": "fbgemm_fp8"}, Float8Layout(weight_format("fp8_channel"))),
    "mxfp4": ({"quant_method": "mxfp4"}, GPT_OSS_MXFP4),
    "modelopt fp8": ({"quant_method": "modelopt", "quant_algo": "FP8"}, Float8Layout(weight_format("fp8_tensor"))),
    "modelopt blocks": (
        {"quant_method": "modelopt", "quant_algo": "fp8_pb_wo"},
        Float8Layout(weight_format("fp8_block")),
    ),
    "modelopt nvfp4": (
        {"quant_method": "modelopt_fp4", "quant_algo": "NVFP4", "group_size": 16, "ignore": ["lm_head"]},
        MODELOPT_NVFP4,
    ),
    "int4": (
        compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=128, symmetric=False),
        IntegerLayout(INT4, 128, packed=True, symmetric=False),
    ),
    "int4 in activation order": (
        compressed("pack-quantized", num_bits=4, strategy="group", group_size=128, actorder="group"),
        IntegerLayout(INT4, 128, packed=True, symmetric=True, ordered=True),
    ),
    "int4 rounded in activation order": (
        compressed("pack-quantized", num_bits=4, strategy="group", group_size=128, actorder="weight"),
        IntegerLayout(INT4, 128, packed=True, symmetric=True),
    ),
    "int4 whose groups say how scales are shared": (
        compressed("pack-quantized", num_bits=4, group_size=128),
        IntegerLayout(INT4, 128, packed=True, symmetric=True),
    ),
    "int8 packed": (
        compressed("pack-quantized", num_bits=8, type="int", strategy="channel"),
        IntegerLayout(INT8, 0, packed=True, symmetric=True),
    ),
    "int8": (
        compressed("int-quantized", num_bits=8, type="int", strategy="channel", symmetric=True, dynamic=False),
        IntegerLayout(INT8, 0, packed=False, symmetric=True),
    ),
    "compressed fp8": (
        compressed("float-quantized", num_bits=8, type="float", strategy="block", block_structure=[128, 128]),
        Float8Layout(weight_format("fp8_block")),
    ),
    "compressed nvfp4": (
        compressed("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16),
        COMPRESSED_NVFP4,
    ),
    "compressed mxfp4": (
        compressed("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group", group_size=32),
        COMPRESSED_MXFP4,
    ),
}


@pytest.mark.parametrize("name", STATED)
def test_a_method_states_the_layout_of_every_matrix(name: str) -> None:
    config, layout = STATED[name]
    quantization = read(config)
    assert quantization.layout(UP) == quantization.layout(Q) == layout


def test_a_folder_that_states_nothing_is_not_quantised(tmp_path: Path) -> None:
    assert read_quantization(tmp_path, Fields({}, "config.json")) is None


def test_modelopt_may_state_it_in_a_file_of_its_own(tmp_path: Path) -> None:
    stated = {"quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    (tmp_path / MODELOPT_FILE).write_text(json.dumps({"producer": {"name": "modelopt"}, "quantization": stated}))
    quantization = read_quantization(tmp_path, Fields({}, "config.json"))
    assert quantization is not None
    assert (quantization.layout(UP), quantization.layout(HEAD)) == (MODELOPT_NVFP4, None)


@pytest.mark.parametrize(
    ("config", "plain", "quantised"),
    [
        ({**GPTQ}, [HEAD], [UP]),
        ({**GPTQ, "lm_head": True}, [], [HEAD, UP]),
        ({**GPTQ, "dynamic": {"-:.*up_proj": {}}}, [UP], [Q]),
        ({**GPTQ, "modules_to_not_convert": ["self_attn"]}, [Q], [UP]),
        ({**GPTQ, "modules_to_not_convert": ["attn", "up_pro", "layers.33"]}, [], [Q, UP]),
        ({"quant_method": "fp8", "ignored_layers": [UP]}, [UP], [Q]),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["*self_attn*", "lm_*"]}, [Q, HEAD], [UP]),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["model.layers.3"]}, [Q, UP], [HEAD]),
    ],
)
def test_modules_that_were_left_out_are_plain(config: dict[str, Any], plain: list[str], quantised: list[str]) -> None:
    quantization = read(config)
    assert [quantization.layout(module) for module in plain] == [None] * len(plain)
    assert all(quantization.layout(module) for module in quantised)


def test_gptq_may_treat_modules_differently() -> None:
    dynamic = {r"+:.*\.q_proj": {"bits": 8, "group_size": -1, "desc_act": False}, r"+:.*\.k_proj": {"bits": None}}
    quantization = read({**GPTQ, "dynamic": dynamic})
    assert quantization.layout(Q) == GPTQLayout(weight_format("gptq_int8"), 0, 1)
    for module in (UP, Q.replace("q_proj", "k_proj")):
        assert quantization.layout(module) == GPTQLayout(weight_format("gptq_int4"), 128, 1, ordered=True)


def test_modelopt_may_treat_modules_differently() -> None:
    layers = {Q: {"quant_algo": "FP8"}, UP: {"quant_algo": "NVFP4", "group_size": 16}}
    config = {"quant_method": "modelopt_mixed", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    quantization = read(config)
    assert quantization.layout(Q) == Float8Layout(weight_format("fp8_tensor"))
    assert (quantization.layout(UP), quantization.layout(HEAD)) == (MODELOPT_NVFP4, None)


def test_a_name_wins_over_an_expression_and_that_over_a_class() -> None:
    def group(bits: int, *targets: str) -> dict[str, Any]:
        weights = {"num_bits": bits, "type": "int", "strategy": "channel"}
        return {"targets": list(targets), "weights": weights, "format": "pack-quantized"}

    config = {
        "quant_method": "compressed-tensors",
        "config_groups": {
            "group_0": group(4, "Linear"),
            "group_1": group(8, r"re:.*self_attn\.(q|k)_proj$"),
            "group_2": group(4, Q),
        },
        "ignore": [HEAD, r"re:.*down_proj"],
    }
    quantization = read(config)
    bits = {
        module: None if (layout := quantization.layout(module)) is None else layout.spec.bits
        for module in (UP, Q, Q.replace("q_proj", "k_proj"), HEAD, UP.replace("up", "down"))
    }
    assert list(bits.values()) == [4, 4, 8, None, None]


def test_tensors_about_activations_and_the_cache_may_be_ignored() -> None:
    quantization = read(GPTQ)
    assert quantization.may_ignore(f"{UP}.input_scale")
    assert quantization.may_ignore("model.layers.0.self_attn.k_proj.k_scale")
    assert not quantization.may_ignore(f"{UP}.weight_scale")


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({}, ["quant_method is missing"]),
        ({"quant_method": "bitsandbytes"}, ["quant_method", "'bitsandbytes'", "awq, gptq", "GGUF"]),
        ({"quant_method": "GTPQ"}, ["quant_method is 'GTPQ'", "did you mean 'gptq'?"]),
        ({"quant_method": "awq", "bits": 3, "group_size": 64}, ["bits is 3", "4"]),
        ({"quant_method": "awq", "group_size": 64, "zero_point": False}, ["zero_point is False"]),
        ({"quant_method": "awq", "group_size": 64, "version": "gemv"}, ["version", "'gemv'", "gemm"]),
        ({**GPTQ, "bits": 5}, ["bits is 5", "2, 3, 4, 8"]),
        ({**GPTQ, "checkpoint_format": "marlin"}, ["checkpoint_format", "gptq_v2"]),
        ({**GPTQ, "group_size": "128"}, ["group_size", "whole number"]),
        ({**GPTQ, "dynamic": {"+:(": {}}}, ["dynamic", "no regular expression"]),
        ({"quant_method": "fp8", "weight_block_size": [64, 64]}, ["weight_block_size", "[128, 128]"]),
        ({"quant_method": "fp8", "fmt": "e5m2"}, ["fmt", "e4m3"]),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, ["quant_algo", "NVFP4"]),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32}, ["group_size is 32", "16"]),
        (compressed("pack-quantized", num_bits=3, type="int", strategy="channel"), ["3-bit int", "int4 and int8"]),
        (compressed("marlin-24", num_bits=4, type="int", strategy="channel"), ["'marlin-24'"]),
        ({**compressed("int-quantized"), "sparsity_config": {"format": "sparse-bitmask"}}, ["sparsity_config: format"]),
        ({**compressed("int-quantized"), "transform_config": {"config_groups": {"a": 1}}}, ["transform_config"]),
        ({**compressed("int-quantized"), "config_groups": [1]}, ["config_groups", "an object"]),
        ({**compressed("int-quantized"), "ignore": 5}, ["ignore", "a list of texts"]),
        ({**compressed("int-quantized"), "ignore": "lm_head"}, ["ignore is 'lm_head'", "a list of texts"]),
        ({**GPTQ, "modules_to_not_convert": "q_proj"}, ["modules_to_not_convert is 'q_proj'", "a list of texts"]),
        ({**GPTQ, "modules_to_not_convert": ["q_proj", ""]}, ["modules_to_not_convert", "none of them empty"]),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": "lm_head"}, ["ignore is 'lm_head'"]),
        ({"quant_method": "modelopt", "quant_algo": "NVPF4"}, ["quant_algo is 'NVPF4'", "did you mean 'nvfp4'?"]),
        (
            {"quant_method": "awq", "group_size": 128, "q_group_size": 64},
            ["q_group_size is 64", "group_size, which is 128"],
        ),
        ({"quant_method": "awq", "group_size": 64, "version": "gemm", "format": "gemv"}, ["format is 'gemv'"]),
        ({**GPTQ, "checkpoint_format": "gptq", "format": "gptq_v2"}, ["format is 'gptq_v2'", "which is 'gptq'"]),
        (
            compressed("pack-quantized", num_bits=4, strategy="channel", group_size=128),
            ["group_size is 128", "strategy is 'channel'"],
        ),
        (
            compressed("pack-quantized", num_bits=4, strategy="group", group_size=128, actorder="columns"),
            ["actorder is 'columns'", "group, weight"],
        ),
    ],
)
def test_what_is_not_supported_is_named_with_file_key_and_remedy(config: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(CheckpointError) as error:
        read(config)
    for part in ["folder/config.json: quantization_config", *parts]:
        assert part in str(error.value)


def test_groups_that_contradict_each_other_are_refused() -> None:
    config = compressed("int-quantized", num_bits=8)
    group = config["config_groups"]["group_0"]
    config["config_groups"]["group_1"] = group
    assert read(config).layout(UP)
    config["config_groups"]["group_1"] = {**group, "format": "pack-quantized", "weights": {"num_bits": 4}}
    with pytest.raises(CheckpointError, match=r"config_groups: group_1: targets is .* no other group has, .* 'Linear'"):
        read(config)


def test_two_statements_of_one_folder_must_agree() -> None:
    fp8 = {"quant_method": "fp8"}
    agreed = read_quantization(
        Path("folder"), Fields({"quantization_config": fp8, "compression_config": fp8}, "c.json")
    )
    assert agreed is not None
    with pytest.raises(CheckpointError, match=r"compression_config is .*the same as quantization_config, which is"):
        read_quantization(Path("folder"), Fields({"quantization_config": fp8, "compression_config": GPTQ}, "c.json"))


@pytest.mark.parametrize(
    ("config", "module", "stated"),
    [
        (GPTQ, UP, "quant_method is 'gptq', bits is 4, group_size is 128, desc_act is True"),
        (GPTQ, HEAD, "lm_head is not set"),
        ({**GPTQ, "dynamic": {"-:.*up_proj": {}}}, UP, "dynamic names '-:.*up_proj'"),
        (
            {**GPTQ, "dynamic": {"+:.*up_proj": {"bits": 8}}},
            UP,
            "dynamic: +:.*up_proj: quant_method is 'gptq', bits is 8",
        ),
        ({"quant_method": "fp8", "ignored_layers": [UP]}, UP, f"ignored_layers names '{UP}'"),
        ({"quant_method": "fp8"}, UP, "weight_block_size is not set"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["*attn*"]}, Q, "ignore names '*attn*'"),
        ({**compressed("int-quantized"), "config_groups": {}}, UP, "config_groups: targets: there are none"),
        (compressed("int-quantized", num_bits=8), UP, "config_groups: group_0: weights: num_bits is 8"),
        (
            {
                "quant_method": "modelopt",
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {f"layers.{layer}": {"quant_algo": "FP8"} for layer in range(40, 60)},
            },
            UP,
            "it is none of 'layers.40', 'layers.41', 'layers.42', 'layers.43', ...",
        ),
    ],
)
def test_the_settings_that_say_how_a_module_is_stored_are_named(
    config: dict[str, Any], module: str, stated: str
) -> None:
    assert read(config).stated(module).startswith("folder/config.json: quantization_config: ")
    assert stated in read(config).stated(module)


@pytest.mark.parametrize(("target", "near"), [("Lineaar", "Linear"), (UP.replace("up_proj", "up_prj"), UP)])
def test_a_target_that_is_no_module_is_named_with_one_that_is_near(target: str, near: str) -> None:
    config = compressed("int-quantized", num_bits=8)
    config["config_groups"]["group_0"]["targets"] = [target]
    assert read(config).layout(UP) is None
    assert f"instead of '{target}', did you mean '{near}'?" in read(config).stated(UP)


def test_an_expression_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.models.quantization._PATTERN_SECONDS", 0.05)
    module = "a" * 60 + "!"
    config = {**compressed("int-quantized", num_bits=8), "ignore": [r"re:(a|a)*$"]}
    with pytest.raises(CheckpointError, match="takes more than"):
        read(config).layout(module)
