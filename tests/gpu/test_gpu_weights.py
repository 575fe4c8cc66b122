"""Products and decoding of every weight format on the device, against float64 on what the reference decodes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from weight_cases import WEIGHT_CASES, WeightCase

from runtime.kernels.gate import Activation
from runtime.kernels.reference.activation import gelu_tanh_and_mul, silu_and_mul

pytestmark = pytest.mark.usefixtures("poison")
every_case = pytest.mark.parametrize("case", WEIGHT_CASES, ids=str)
GATED_CASES = [
    WeightCase("awq_int4", 8, 384, 128, symmetric=False),
    WeightCase("gptq_int3", 32, 96, 32, ordered=True),
    WeightCase("fp8_channel", 6, 272),
    WeightCase("gguf_q4_k", 6, 512),
]
LARGE_CASES = [
    WeightCase("awq_int4", 1032, 2048, 128, symmetric=False),
    WeightCase("gptq_int3", 1056, 2048, 128, ordered=True),
    WeightCase("fp8_block", 1029, 2048),
    WeightCase("nvfp4", 1029, 2064),
    WeightCase("gguf_q4_0", 1029, 2080),
    WeightCase("gguf_q6_k", 1029, 2048),
]


def activations(rows: int, k: int) -> Tensor:
    return torch.randn(rows, k, generator=torch.Generator().manual_seed(rows)).half()


def assert_is_product(result: Tensor, x: Tensor, weight: Tensor, added: Tensor | float = 0.0) -> None:
    """Within the rounding of float32 sums, and of one float16 where the result is that; all but `result` on the CPU."""
    exact = x.double() @ weight.double().t() + added
    terms = x.double().abs() @ weight.double().abs().t()
    rounding = 2.0**-11 if result.dtype == torch.float16 else 2.0**-23
    assert result.shape == exact.shape
    excess = (result.cpu().double() - exact).abs() - (exact.abs() * rounding + terms * 2.0**-20)
    assert excess.max() <= 0


@every_case
def test_decoding_is_the_reference_to_the_bit(case: WeightCase, device: torch.device) -> None:
    from runtime.kernels.triton.dequantize import dequantize

    weight = case.weight()
    expected = weight.dequantize(torch.float16)
    if "order" in weight.parts:
        expected = expected[:, weight.parts["order"]]
    out = torch.full((case.n, case.k), float("nan"), dtype=torch.float16, device=device)
    dequantize(weight.to(device), 1, out[:-1])
    assert torch.equal(out[:-1].cpu(), expected[1:])
    assert out[-1].isnan().all()


@pytest.mark.parametrize("rows", [1, 3, 8])
@every_case
def test_few_rows_make_a_product(case: WeightCase, rows: int, device: torch.device) -> None:
    from runtime.kernels.triton.gemv import product

    weight, x, bias = case.weight(), activations(rows, case.k), activations(1, case.n)[0]
    result = product(x.to(device), weight.to(device), bias.to(device))
    assert_is_product(result, x, weight.dequantize(torch.float32), bias.double())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@every_case
def test_a_product_is_added_to_a_residual(case: WeightCase, dtype: torch.dtype, device: torch.device) -> None:
    from runtime.kernels.triton.gemv import add_product

    weight, x = case.weight(), activations(2, case.k)
    residual = torch.randn(3, case.n, generator=torch.Generator().manual_seed(1)).to(dtype)
    target = residual.to(device, copy=True)
    add_product(target[:2], x.to(device), weight.to(device))
    assert_is_product(target[:2], x, weight.dequantize(torch.float32), residual[:2].double())
    assert torch.equal(target[2].cpu(), residual[2])


@pytest.mark.parametrize("form", ["silu", "gelu_tanh"])
@pytest.mark.parametrize("case", GATED_CASES, ids=str)
def test_a_product_is_activated(case: WeightCase, form: Activation, device: torch.device) -> None:
    from runtime.kernels.triton.gemv import gated_product

    weight, x, bias = case.weight(), activations(3, case.k), activations(1, case.n)[0]
    result = gated_product(x.to(device), weight.to(device), bias.to(device), form)
    sums = x.double() @ weight.dequantize(torch.float64).t() + bias.double()
    expected = {"silu": silu_and_mul, "gelu_tanh": gelu_tanh_and_mul}[form](sums)
    torch.testing.assert_close(result.cpu().double(), expected, rtol=2.0**-10, atol=2.0**-12)


@pytest.mark.parametrize("case", LARGE_CASES, ids=str)
def test_matrices_of_many_blocks(case: WeightCase, card: torch.device) -> None:
    """As large as no interpreter can compute them."""
    from runtime.kernels.triton.dequantize import dequantize
    from runtime.kernels.triton.gemv import product

    weight, x = case.weight(), activations(5, case.k)
    expected, on_card = weight.dequantize(torch.float32), weight.to(card)
    assert_is_product(product(x.to(card), on_card), x, expected)
    out = torch.full((case.n, case.k), float("nan"), dtype=torch.float16, device=card)
    dequantize(on_card, 0, out)
    columns = weight.parts.get("order", torch.arange(case.k)).long()
    assert torch.equal(out.cpu(), expected[:, columns].half())


@pytest.mark.parametrize("rows", [1, 8])
def test_a_dense_weight(rows: int, device: torch.device) -> None:
    from runtime.kernels.triton.gemv import product

    weight, x = activations(5, 528), activations(rows, 528)
    assert_is_product(product(x.to(device), weight.to(device)), x, weight)


@pytest.mark.parametrize("rows", [1, 8, 9, 33])
@every_case
def test_the_linear_operator_multiplies_any_number_of_rows(case: WeightCase, rows: int, card: torch.device) -> None:
    """Whatever provider is chosen: beyond eight rows sums are cuBLAS's, of halves that were rounded once."""
    from runtime.config import KernelsConfig
    from runtime.linear.linear import Linear
    from runtime.platforms import current

    linear = Linear(current().name, torch.float16, KernelsConfig())
    weight, x = case.weight(), activations(rows, case.k)
    result = linear.bind(weight.to(card))(x.to(card)).cpu().double()
    exact = x.double() @ weight.dequantize(torch.float32).double().t()
    terms = x.double().abs() @ weight.dequantize(torch.float32).double().abs().t()
    assert ((result - exact).abs() <= (exact.abs() + terms) * 2.0**-10).all()
    assert linear.counters["reference"] == 0
