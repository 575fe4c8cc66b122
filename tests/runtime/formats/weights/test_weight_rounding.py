"""Rounding to a format takes the nearest code there is, for a scale that reaches every weight of its group."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from naive_weights import decode, e2m1
from torch import Tensor

from runtime.formats.weights.bits import pack_codes, unpack_codes
from runtime.formats.weights.declarations import WEIGHT_FORMATS, weight_format
from runtime.formats.weights.float4 import quantize_mxfp4, quantize_nvfp4
from runtime.formats.weights.float8 import quantize_float8
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix

torch.set_num_threads(1)
INTEGERS = [spec.name for spec in WEIGHT_FORMATS if spec.layout == "integer"]


def weights(n: int, k: int, seed: int) -> Tensor:
    """Groups of very different size, one of them all zero."""
    numbers = torch.Generator().manual_seed(seed)
    values = torch.randn(n, k, generator=numbers) * torch.logspace(-3, 1, k)
    values[0, :32] = 0
    return values


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_codes_are_unpacked_as_they_were_packed(bits: int) -> None:
    codes = torch.randint(0, 1 << bits, (3, 40), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    packed = pack_codes(codes, bits)
    assert packed.shape == (3, 40 * bits // 8)
    assert torch.equal(unpack_codes(packed, bits), codes)


@pytest.mark.parametrize("group_size", [0, 32, 64])
@pytest.mark.parametrize(
    ("name", "symmetric"), [("awq_int4", False), *product(sorted(set(INTEGERS) - {"awq_int4"}), [True, False])]
)
def test_integers_are_off_by_half_a_step_at_most(name: str, symmetric: bool, group_size: int) -> None:
    """A rounded scale moves the ends of a group by less than the rounding of float16 times the number of steps."""
    values = weights(32, 96, 1)
    matrix = quantize_integer(values, weight_format(name), group_size, symmetric=symmetric)
    steps = matrix.parts["scales"].float().repeat_interleave(group_size or 96, 1)[:, :96]
    ends = steps * (1 << matrix.spec.bits) * 2.0**-10
    assert ("zeros" in matrix.parts) != symmetric
    slack = 0.5 * steps if symmetric else steps
    assert ((matrix.dequantize(torch.float32) - values).abs() <= slack + ends + 1e-7).all()


def test_an_order_changes_groups_and_not_places() -> None:
    values = weights(16, 64, 2)
    order = torch.randperm(64, generator=torch.Generator().manual_seed(1)).to(torch.int32)
    ordered = quantize_integer(values, weight_format("gptq_int8"), 32, symmetric=True, order=order)
    permuted = quantize_integer(values[:, order.long()], weight_format("gptq_int8"), 32, symmetric=True)
    assert torch.equal(ordered.parts["codes"], permuted.parts["codes"])
    assert torch.equal(ordered.dequantize(torch.float32)[:, order.long()], permuted.dequantize(torch.float32))


@pytest.mark.parametrize("name", ["fp8_tensor", "fp8_channel", "fp8_block"])
def test_fp8_keeps_four_significant_bits_and_the_largest_weight(name: str) -> None:
    values = weights(130, 200, 3)
    matrix = quantize_float8(values, weight_format(name))
    found = matrix.dequantize(torch.float32)
    smallest = matrix.parts["scales"].max() * 2.0**-9
    assert ((found - values).abs() <= values.abs() / 16 + smallest).all()
    place = values.abs().argmax()
    torch.testing.assert_close(found.view(-1)[place], values.view(-1)[place], rtol=1e-6, atol=0)


def nearest(ratio: float) -> set[float]:
    distances = {e2m1(code): abs(e2m1(code) - ratio) for code in range(16)}
    return {value for value, distance in distances.items() if distance == min(distances.values())}


def every_code_is_nearest(values: Tensor, matrix: PackedMatrix, scales: Tensor) -> None:
    codes = unpack_codes(matrix.parts["codes"], 4)
    for row, column in torch.cartesian_prod(torch.arange(values.shape[0]), torch.arange(values.shape[1])).tolist():
        scale = float(scales[row, column // matrix.group_size])
        if scale:
            ratio = float(values[row, column] / scale)
            assert e2m1(int(codes[row, column])) in nearest(ratio), (row, column, ratio)


def test_nvfp4_takes_the_nearest_code() -> None:
    values = weights(4, 96, 4)
    matrix = quantize_nvfp4(values)
    scales = matrix.parts["block_scales"].view(torch.float8_e4m3fn).float() * matrix.parts["global_scale"]
    every_code_is_nearest(values, matrix, scales)
    assert matrix.parts["block_scales"].view(torch.float8_e4m3fn).float().max() == 448


def test_mxfp4_takes_the_nearest_code_for_the_scale_of_the_specification() -> None:
    values = weights(4, 96, 5)
    matrix = quantize_mxfp4(values)
    scales = matrix.parts["block_scales"].view(torch.float8_e8m0fnu).float()
    every_code_is_nearest(values, matrix, scales)
    largest = values.view(4, 3, 32).abs().amax(-1)
    expected = torch.where(largest > 0, 2.0 ** (largest.log2().floor() - 2), scales)
    assert torch.equal(scales, expected)


def test_half_way_between_two_codes_the_even_one_is_taken() -> None:
    halves = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    row = torch.zeros(1, 32)
    row[0, :7], row[0, 7:14], row[0, 14] = halves, -halves, 6.0
    found = quantize_mxfp4(row).dequantize(torch.float32)[0]
    expected = torch.tensor([0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0])
    assert torch.equal(found[:7], expected)
    assert torch.equal(found[7:14], -expected)


@pytest.mark.parametrize("value", [0.0, 1e-38, 3e38])
def test_extreme_matrices_stay_finite(value: float) -> None:
    values = torch.full((32, 128), value)
    for matrix in (
        quantize_mxfp4(values),
        quantize_nvfp4(values),
        quantize_float8(values, weight_format("fp8_block")),
    ):
        assert matrix.dequantize(torch.float32).isfinite().all(), matrix.spec.name
    assert decode(quantize_mxfp4(torch.zeros(1, 32))).sum() == 0
