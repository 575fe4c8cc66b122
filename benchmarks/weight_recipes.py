"""How each weight format is written for the comparison: what rounds a matrix, and what the config says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import quantize_mxfp4, quantize_nvfp4
from runtime.formats.weights.float8 import quantize_float8
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One format in one checkpoint layout.

    Attributes:
        quantize: rounds a matrix.
        config: the `quantization_config` of its config.json; it also says which matrices are rounded.
        perplexity: the most that the perplexity may be, as a multiple of float32's.
        agreement: the least share of positions at which the likeliest next token must be float32's.
    """

    name: str
    quantize: Callable[[Tensor], PackedMatrix]
    config: Mapping[str, object]
    perplexity: float
    agreement: float


def _integer(
    name: str, group_size: int, *, symmetric: bool, act_order: bool = False
) -> Callable[[Tensor], PackedMatrix]:
    """With `act_order`, columns are ordered by their norm, which stands in for that of their activations."""

    def quantize(weight: Tensor) -> PackedMatrix:
        order = weight.norm(dim=0).argsort(descending=True, stable=True).to(torch.int32) if act_order else None
        return quantize_integer(weight, weight_format(name), group_size, symmetric=symmetric, order=order)

    return quantize


def _float8(name: str) -> Callable[[Tensor], PackedMatrix]:
    return partial(quantize_float8, spec=weight_format(name))


def _gptq(bits: int, group_size: int, *, version: int, act_order: bool = False, **options: object) -> dict[str, object]:
    return {
        "quant_method": "gptq",
        "bits": bits,
        "group_size": group_size,
        "sym": version == 1,
        "desc_act": act_order,
        "checkpoint_format": "gptq" if version == 1 else "gptq_v2",
        **options,
    }


def _compressed(form: str, **weights: object) -> dict[str, object]:
    group = {"targets": ["Linear"], "weights": weights, "format": form}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"]}


def _modelopt(algorithm: str) -> dict[str, object]:
    return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"]}


# The thresholds are what rounding to nearest costs this small model, with a margin; calibrated tools lose less.
# Version 1 of GPTQ cannot store a zero point of 0, so it is written symmetric. Rounded to 2 bits the whole model says
# nothing any more, so only one matrix of each layer is.
RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="awq_int4",
        quantize=_integer("awq_int4", 64, symmetric=False),
        config={"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True, "version": "gemm"},
        perplexity=1.5,
        agreement=0.6,
    ),
    Recipe(
        name="gptq_int2_v2",
        quantize=_integer("gptq_int2", 16, symmetric=False),
        config=_gptq(2, 16, version=2, dynamic={r"-:.*\.(self_attn|mlp\.(gate|down)_proj)": {}}),
        perplexity=3.0,
        agreement=0.45,
    ),
    Recipe(
        name="gptq_int3_v2",
        quantize=_integer("gptq_int3", 32, symmetric=False),
        config=_gptq(3, 32, version=2),
        perplexity=3.3,
        agreement=0.42,
    ),
    Recipe(
        name="gptq_int4_v1",
        quantize=_integer("gptq_int4", 64, symmetric=True),
        config=_gptq(4, 64, version=1),
        perplexity=1.7,
        agreement=0.55,
    ),
    Recipe(
        name="gptq_int4_v2_act_order",
        quantize=_integer("gptq_int4", 64, symmetric=False, act_order=True),
        config=_gptq(4, 64, version=2, act_order=True),
        perplexity=1.6,
        agreement=0.6,
    ),
    Recipe(
        name="gptq_int8_v1",
        quantize=_integer("gptq_int8", 64, symmetric=True),
        config=_gptq(8, 64, version=1),
        perplexity=1.05,
        agreement=0.93,
    ),
    Recipe(
        name="int4",
        quantize=_integer("int4", 32, symmetric=True),
        config=_compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=32),
        perplexity=1.5,
        agreement=0.6,
    ),
    Recipe(
        name="int8",
        quantize=_integer("int8", 0, symmetric=True),
        config=_compressed("int-quantized", num_bits=8, type="int", strategy="channel"),
        perplexity=1.05,
        agreement=0.93,
    ),
    Recipe(
        name="fp8_tensor",
        quantize=_float8("fp8_tensor"),
        config=_modelopt("FP8"),
        perplexity=1.05,
        agreement=0.88,
    ),
    Recipe(
        name="fp8_channel",
        quantize=_float8("fp8_channel"),
        config=_compressed("float-quantized", num_bits=8, type="float", strategy="channel"),
        perplexity=1.05,
        agreement=0.88,
    ),
    Recipe(
        name="fp8_block",
        quantize=_float8("fp8_block"),
        config={"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
        perplexity=1.05,
        agreement=0.88,
    ),
    Recipe(
        name="nvfp4_modelopt",
        quantize=quantize_nvfp4,
        config=_modelopt("NVFP4"),
        perplexity=1.4,
        agreement=0.65,
    ),
    Recipe(
        name="nvfp4_compressed",
        quantize=quantize_nvfp4,
        config=_compressed("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16),
        perplexity=1.4,
        agreement=0.65,
    ),
    Recipe(
        name="mxfp4",
        quantize=quantize_mxfp4,
        config={"quant_method": "mxfp4"},
        perplexity=1.9,
        agreement=0.5,
    ),
    Recipe(
        name="mxfp4_compressed",
        quantize=quantize_mxfp4,
        config=_compressed("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group", group_size=32),
        perplexity=1.9,
        agreement=0.5,
    ),
)


def recipe(name: str) -> Recipe:
    """The recipe of that name. Raises KeyError."""
    return {each.name: each for each in RECIPES}[name]
