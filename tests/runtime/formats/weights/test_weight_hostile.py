"""Tensors that are wrong in any way end in one CheckpointError that names the module and the tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from naive_weights import random_matrix
from torch import Tensor

from runtime.errors import CheckpointError
from runtime.formats.weights.awq import AWQLayout
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import COMPRESSED_NVFP4, GPT_OSS_MXFP4, MODELOPT_NVFP4
from runtime.formats.weights.float8 import Float8Layout
from runtime.formats.weights.gptq import GPTQLayout
from runtime.formats.weights.layout import CheckpointLayout
from runtime.formats.weights.packed_integer import IntegerLayout

N, K = 32, 128
LAYOUTS: dict[str, CheckpointLayout] = {
    "awq": AWQLayout(32),
    "gptq": GPTQLayout(weight_format("gptq_int4"), 32, 0),
    "gptq in order": GPTQLayout(weight_format("gptq_int4"), 32, 0, ordered=True),
    "int4 in order": IntegerLayout(weight_format("int4"), 32, packed=True, symmetric=True, ordered=True),
    "gptq v1 8 bit": GPTQLayout(weight_format("gptq_int8"), 32, 1),
    "int4": IntegerLayout(weight_format("int4"), 32, packed=True, symmetric=False),
    "int8": IntegerLayout(weight_format("int8"), 0, packed=False, symmetric=True),
    "fp8": Float8Layout(weight_format("fp8_channel")),
    "fp8 block": Float8Layout(weight_format("fp8_block"), ".weight_scale_inv"),
    "nvfp4": MODELOPT_NVFP4,
    "nvfp4 divided": COMPRESSED_NVFP4,
    "mxfp4": GPT_OSS_MXFP4,
}


def good(layout: CheckpointLayout) -> dict[str, Tensor]:
    optional = ("zeros",) if isinstance(layout, IntegerLayout) and not layout.symmetric else ()
    matrix = random_matrix(layout.spec, N, K, layout.group_size, 0, *optional)
    for name in {"codes", "block_scales", "zeros"} & set(matrix.parts):
        matrix.parts[name].bitwise_and_(0x07 if name == "zeros" else 0x77)
    return layout.store(matrix)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_tensor_must_be_there_in_shape_and_dtype(name: str) -> None:
    layout = LAYOUTS[name]
    tensors = good(layout)
    layout.prepare(tensors, N, K, "file: module")
    for tensor_name, expected in layout.stored(N, K).items():
        if tensor_name not in tensors:
            continue
        tensor = tensors[tensor_name]
        wrong: list[tuple[Tensor | None, str]] = [
            (torch.zeros(tensor.shape, dtype=torch.complex64), "complex64"),
            (torch.zeros(7, 3).to(tensor.dtype), r"\[7, 3\]"),
            (torch.zeros(0).to(tensor.dtype), r"\[0\]"),
        ]
        if not expected.optional:
            wrong.append((None, "is missing"))
        for value, problem in wrong:
            broken = {each: kept for each, kept in tensors.items() if each != tensor_name}
            if value is not None:
                broken[tensor_name] = value
            with pytest.raises(CheckpointError, match=rf"file: module\{tensor_name}.*{problem}"):
                layout.prepare(broken, N, K, "file: module")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30])
@pytest.mark.parametrize("name", ["awq", "gptq", "int4", "int8"])
def test_a_scale_that_float16_cannot_hold_is_refused(name: str, value: float) -> None:
    layout, tensors = LAYOUTS[name], good(LAYOUTS[name])
    scale = next(each for each in tensors if "scale" in each)
    tensors[scale] = tensors[scale].float()
    tensors[scale].view(-1)[3] = value
    with pytest.raises(CheckpointError, match="no finite float16"):
        layout.prepare(tensors, N, K, "file: module")


@pytest.mark.parametrize("factor", [1e-4, 1e-9, 1e-30])
@pytest.mark.parametrize("name", ["awq", "gptq", "int4", "int8"])
def test_scales_that_float16_makes_others_are_refused(name: str, factor: float) -> None:
    """At 1e-9 the matrix would become zero, at 1e-4 a wrong one: float16 has steps of 6e-8 there."""
    layout, tensors = LAYOUTS[name], good(LAYOUTS[name])
    scale = next(each for each in tensors if "scale" in each)
    tensors[scale] = tensors[scale].float() * 1e-3 * factor
    with pytest.raises(CheckpointError, match=rf"file: module\{scale}: .*which float16 rounds"):
        layout.prepare(tensors, N, K, "file: module")


@pytest.mark.parametrize("smallest", [0.0, 1e-9, 6e-8, -1e-9])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", ["awq", "gptq", "int4", "int8"])
def test_scales_that_are_nothing_beside_others_are_read(name: str, dtype: torch.dtype, smallest: float) -> None:
    """Tools give rows of zeros a scale near zero, and some give others negative ones."""
    layout, tensors = LAYOUTS[name], good(LAYOUTS[name])
    scale = next(each for each in tensors if "scale" in each)
    tensors[scale] = -tensors[scale].to(dtype)
    tensors[scale].view(-1)[3] = smallest
    expected = tensors[scale].to(torch.float16)
    found = layout.prepare(tensors, N, K, "file: module").parts["scales"]
    assert torch.equal(found.flatten().sort().values, expected.flatten().sort().values)


def test_the_scales_of_a_matrix_of_zeros_do_not_matter() -> None:
    layout = LAYOUTS["int8"]
    tensors = {".weight": torch.zeros(N, K, dtype=torch.int8), ".weight_scale": torch.full((N, 1), 1e-12)}
    assert not layout.prepare(tensors, N, K, "file: module").dequantize(torch.float32).any()


Damage = Callable[[dict[str, Tensor]], object]
DAMAGES: dict[str, tuple[str, Damage, str]] = {
    "NaN scale of a row": ("fp8", lambda t: t[".weight_scale"][0].fill_(float("nan")), "no finite float32"),
    "NaN scale of a block": ("fp8 block", lambda t: t[".weight_scale_inv"][0].fill_(float("nan")), "no finite float32"),
    "NaN code": ("fp8", lambda t: t[".weight"].view(torch.uint8)[0].fill_(0xFF), "holds NaN"),
    "NaN block scale": ("nvfp4", lambda t: t[".weight_scale"].view(torch.uint8)[0].fill_(0x7F), "holds NaN"),
    "NaN E8M0": ("mxfp4", lambda t: t["_scales"][0].fill_(255), "holds NaN"),
    "global scale without end": (
        "nvfp4 divided",
        lambda t: t[".weight_global_scale"].fill_(float("inf")),
        "no finite float32",
    ),
    "no groups of ordered columns": ("gptq in order", lambda t: t.pop(".g_idx"), "is missing"),
    "no groups of ordered integers": ("int4 in order", lambda t: t.pop(".weight_g_idx"), "is missing"),
    "global scale of zero": ("nvfp4 divided", lambda t: t[".weight_global_scale"].zero_(), "no finite float32"),
    "group that is not there": ("gptq", lambda t: t[".g_idx"][5].fill_(4), "names group 4, and there are 4"),
    "group below zero": ("gptq", lambda t: t[".g_idx"][5].fill_(-1), "names group -1"),
    "group too large": ("gptq", lambda t: t[".g_idx"][127].fill_(0), "groups of other sizes than 32"),
    "zero point of 256": ("gptq v1 8 bit", lambda t: t[".qzeros"].fill_(-1), "zero point of 256"),
    "another shape inside": ("int4", lambda t: t[".weight_shape"].fill_(3), r"says \[3, 3\]"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_what_no_matrix_can_mean_is_refused(what: str) -> None:
    name, damage, problem = DAMAGES[what]
    tensors = good(LAYOUTS[name])
    damage(tensors)
    with pytest.raises(CheckpointError, match=rf"file: module.*{problem}"):
        LAYOUTS[name].prepare(tensors, N, K, "file: module")


@pytest.mark.parametrize(("name", "n", "k"), [("awq", 12, 128), ("gptq", 32, 12), ("mxfp4", 4, 48)])
def test_a_shape_that_the_format_cannot_hold_is_refused(name: str, n: int, k: int) -> None:
    with pytest.raises(CheckpointError, match=r"file: module: .* no multiple of .* another format"):
        LAYOUTS[name].prepare({}, n, k, "file: module")
