"""Triton's products of few rows and its decoding, against float64 on the reference's weights, in the interpreter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle, interpreter_builder
from weight_cases import WEIGHT_CASES, WeightCase

from runtime.formats.weights.declarations import WEIGHT_FORMATS, weight_format
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.triton import gemv
from runtime.kernels.triton.dequantize import dequantize
from runtime.kernels.triton.weight_operands import UNITS, form_of

every_case = pytest.mark.parametrize("case", WEIGHT_CASES, ids=str)


@pytest.fixture(autouse=True)
def poison() -> Iterator[None]:
    """What is not written is NaN."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def activations(rows: int, k: int) -> Tensor:
    return torch.randn(rows, k, generator=torch.Generator().manual_seed(rows)).half()


def assert_is_product(result: Tensor, x: Tensor, weight: Tensor, added: Tensor | float = 0.0) -> None:
    """Within the rounding of float32 sums, and of one float16 where the result is that."""
    exact = x.double() @ weight.double().t() + added
    terms = x.double().abs() @ weight.double().abs().t()
    rounding = 2.0**-11 if result.dtype == torch.float16 else 2.0**-23
    assert result.shape == exact.shape
    excess = (result.double() - exact).abs() - (exact.abs() * rounding + terms * 2.0**-20)
    assert excess.max() <= 0


def test_every_format_has_a_case_and_every_form_a_format() -> None:
    assert {case.format for case in WEIGHT_CASES} == {spec.name for spec in WEIGHT_FORMATS}
    assert {form_of(spec) for spec in WEIGHT_FORMATS} | {"fp16"} == set(UNITS)


@every_case
def test_decoding_is_the_reference_to_the_bit(case: WeightCase) -> None:
    """In the order of stored columns, from a row on; what is beyond stays as it was."""
    weight = case.weight()
    expected = weight.dequantize(torch.float16)
    if "order" in weight.parts:
        expected = expected[:, weight.parts["order"]]
    out = torch.empty(case.n, case.k, dtype=torch.float16)
    dequantize(weight, 1, out[:-1])
    assert torch.equal(out[:-1], expected[1:])
    assert out[-1].isnan().all()


def test_rows_of_two_blocks_of_scales() -> None:
    weight = WeightCase("fp8_block", 130, 144).weight()
    out = torch.empty(4, 144, dtype=torch.float16)
    dequantize(weight, 126, out)
    assert torch.equal(out, weight.dequantize(torch.float16)[126:])


@every_case
def test_three_rows_are_added_to_a_wide_residual(case: WeightCase) -> None:
    weight, x = case.weight(), activations(3, case.k)
    residual = torch.randn(4, case.n, generator=torch.Generator().manual_seed(1))
    target = residual.clone()
    gemv.add_product(target[:3], x, weight)
    assert_is_product(target[:3], x, weight.dequantize(torch.float32), residual[:3].double())
    assert torch.equal(target[3], residual[3])


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 8])
@pytest.mark.parametrize("case", [WeightCase("int4", 5, 48, 32), WeightCase("gguf_q6_k", 3, 256)], ids=str)
def test_up_to_eight_rows_make_a_product(case: WeightCase, rows: int) -> None:
    weight, x = case.weight(), activations(rows, case.k)
    assert_is_product(gemv.product(x, weight), x, weight.dequantize(torch.float32))


@pytest.mark.parametrize("rows", [1, 3])
def test_a_dense_weight_and_a_bias(rows: int) -> None:
    weight, bias, x = activations(5, 528), activations(1, 5)[0], activations(rows, 528)
    assert_is_product(gemv.product(x, weight, bias), x, weight, bias.double())


def test_a_narrow_residual() -> None:
    weight, x = WeightCase("nvfp4", 5, 48).weight(), activations(2, 48)
    residual = activations(2, 5)
    target = residual.clone()
    gemv.add_product(target, x, weight)
    assert_is_product(target, x, weight.dequantize(torch.float32), residual.double())


@pytest.mark.parametrize("byte", [0, 127, 254])
def test_scales_of_mxfp4_at_their_ends(byte: int) -> None:
    """Also where the largest weights are not finite."""
    codes = torch.arange(16, dtype=torch.uint8).repeat(2, 1)
    scales = torch.full((2, 1), byte, dtype=torch.uint8)
    weight = PackedMatrix(weight_format("mxfp4"), (2, 32), 32, {"codes": codes, "block_scales": scales})
    out = torch.empty(2, 32, dtype=torch.float16)
    dequantize(weight, 0, out)
    assert torch.equal(out, weight.dequantize(torch.float16))


def test_the_smallest_scale_of_mxfp4_is_not_lost() -> None:
    """It is 2**-127, which float32 has as a subnormal number; every weight is 6."""
    codes, scales = torch.full((2, 16), 0x77, dtype=torch.uint8), torch.zeros(2, 1, dtype=torch.uint8)
    weight = PackedMatrix(weight_format("mxfp4"), (2, 32), 32, {"codes": codes, "block_scales": scales})
    target = torch.zeros(1, 2)
    gemv.add_product(target, torch.full((1, 32), 1024.0).half(), weight)
    assert target.tolist() == [[32 * 1024 * 6 * 2.0**-127] * 2]


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> dict[object, set[int]]:
    """By program the addresses of the bytes that it reads."""
    addresses: defaultdict[object, set[int]] = defaultdict(set)
    load = InterpreterBuilder.create_masked_load

    def counted(self: InterpreterBuilder, ptrs: TensorHandle, mask: TensorHandle, *others: object) -> TensorHandle:
        size = ptrs.get_element_ty().primitive_bitwidth // 8
        for start in np.unique(ptrs.data[mask.data.astype(bool)]).tolist():
            addresses[interpreter_builder.grid_idx].update(range(start, start + size))
        return load(self, ptrs, mask, *others)

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", counted)
    return addresses


@pytest.mark.parametrize(
    "case",
    [
        WeightCase("awq_int4", 8, 256, 128, symmetric=False),
        WeightCase("gptq_int3", 32, 128, 128),
        WeightCase("fp8_block", 8, 256),
        WeightCase("nvfp4", 6, 64),
        WeightCase("gguf_q4_0", 6, 96),
        WeightCase("gguf_q4_k", 6, 256),
        WeightCase("gguf_q6_k", 6, 256),
    ],
    ids=str,
)
def test_every_packed_byte_is_read_once(case: WeightCase, bytes_read: dict[object, set[int]]) -> None:
    """By one program, which has it in its cache when it needs it again."""
    weight = case.weight()
    parts = [range(part.data_ptr(), part.data_ptr() + part.nbytes) for part in weight.parts.values()]
    gemv.product(activations(3, case.k), weight)
    read = [sum(address in part for part in parts for address in addresses) for addresses in bytes_read.values()]
    assert weight.nbytes - 4 <= sum(read) <= 1.02 * weight.nbytes
