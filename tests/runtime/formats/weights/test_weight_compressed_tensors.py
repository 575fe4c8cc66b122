"""The package `compressed-tensors` reads what is stored here, and what it stores is read here: the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from naive_weights import random_matrix

from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import COMPRESSED_MXFP4, COMPRESSED_NVFP4
from runtime.formats.weights.float8 import Float8Layout
from runtime.formats.weights.layout import CheckpointLayout
from runtime.formats.weights.packed_integer import IntegerLayout

torch.set_num_threads(1)
N, K = 40, 128
INT4, INT8 = weight_format("int4"), weight_format("int8")
GROUPS = {"type": "int", "strategy": "group", "group_size": 32}
CASES: dict[str, tuple[CheckpointLayout, str, dict[str, Any]]] = {
    "int4": (IntegerLayout(INT4, 32, True, True), "pack-quantized", {"num_bits": 4, **GROUPS}),
    "int4 asymmetric": (
        IntegerLayout(INT4, 32, True, False),
        "pack-quantized",
        {"num_bits": 4, **GROUPS, "symmetric": False},
    ),
    "int8 packed": (IntegerLayout(INT8, 32, True, True), "pack-quantized", {"num_bits": 8, **GROUPS}),
    "int8": (IntegerLayout(INT8, 0, False, True), "int-quantized", {"num_bits": 8, "strategy": "channel"}),
    "fp8 channel": (
        Float8Layout(weight_format("fp8_channel")),
        "float-quantized",
        {"num_bits": 8, "type": "float", "strategy": "channel"},
    ),
    "fp8 tensor": (
        Float8Layout(weight_format("fp8_tensor")),
        "float-quantized",
        {"num_bits": 8, "type": "float", "strategy": "tensor"},
    ),
    "nvfp4": (
        COMPRESSED_NVFP4,
        "nvfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
    ),
    "mxfp4": (
        COMPRESSED_MXFP4,
        "mxfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32},
    ),
}


def compressor(case: str) -> tuple[CheckpointLayout, Any, QuantizationScheme]:
    layout, form, arguments = CASES[case]
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**arguments))
    return layout, BaseCompressor.get_value_from_registry(form), scheme


@pytest.mark.parametrize("case", CASES)
def test_the_package_reads_what_is_stored(case: str) -> None:
    """In float32, and with scales that it rounds no further: it computes in the dtype of the scales."""
    layout, package, scheme = compressor(case)
    optional = ("zeros",) if case == "int4 asymmetric" else ()
    matrix = random_matrix(layout.spec, N, K, layout.group_size, 3, *optional)
    for name in {"codes", "block_scales", "zeros"} & set(matrix.parts):
        matrix.parts[name].bitwise_and_(0x0F if name == "zeros" else 0x77)
    if "global_scale" in matrix.parts:
        matrix.parts["global_scale"].fill_(0.25)
    stored = layout.store(matrix)
    if stored[".weight_scale"].dtype == torch.float16:
        stored[".weight_scale"] = stored[".weight_scale"].float()
    state = {name.removeprefix("."): tensor for name, tensor in stored.items()}
    found = package.decompress(state, scheme)["weight"].float()
    torch.testing.assert_close(found, matrix.dequantize(torch.float32), rtol=0, atol=0)


@pytest.mark.parametrize("case", ["int4", "int4 asymmetric", "int8 packed", "int8", "fp8 channel"])
def test_what_the_package_stores_is_read(case: str) -> None:
    layout, package, scheme = compressor(case)
    numbers = torch.Generator().manual_seed(1)
    weight = torch.randn(N, K, generator=numbers)
    groups = K // layout.group_size if layout.group_size else 1
    state = {"weight": weight, "weight_scale": (torch.rand(N, groups, generator=numbers) * 0.1 + 0.05).half().float()}
    if case == "int4 asymmetric":
        state["weight_zero_point"] = torch.randint(-8, 8, (N, groups), generator=numbers).to(torch.int8)
    stored = package.compress(state, scheme)
    expected = package.decompress(dict(stored), scheme)["weight"]
    matrix = layout.prepare({f".{name}": tensor for name, tensor in stored.items()}, N, K, "here")
    torch.testing.assert_close(matrix.dequantize(torch.float32), expected, rtol=0, atol=0)
