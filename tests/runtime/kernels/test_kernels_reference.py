"""Reference norm, rotation and activations, judged by their formulas in float64."""

from __future__ import annotations

import pytest
import torch

from runtime.kernels.reference.activation import gelu_tanh_and_mul, silu_and_mul
from runtime.kernels.reference.norm import rms_norm
from runtime.kernels.reference.product import add_product, product
from runtime.kernels.reference.rotary import rotary, rotary_table


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rms_norm_is_its_formula(rows: int, dtype: torch.dtype) -> None:
    x, weight = random(rows, 64).to(dtype), random(64, seed=1).to(dtype)
    wide = x.double()
    wanted = wide / torch.sqrt(wide.square().mean(-1, keepdim=True) + 1e-5) * weight.double()
    assert rms_norm(x, weight, 1e-5).dtype is dtype
    torch.testing.assert_close(rms_norm(x, weight, 1e-5), wanted.to(dtype))


def test_rms_norm_does_not_overflow_where_the_squares_leave_half_precision() -> None:
    x = torch.full((2, 64), 60000.0, dtype=torch.float16)
    torch.testing.assert_close(rms_norm(x, torch.ones(64, dtype=torch.float16), 1e-6), torch.ones_like(x))


def test_rms_norm_takes_a_float32_residual_to_the_compute_dtype() -> None:
    x, weight = random(3, 32) * 1e5, random(32, seed=1).half()
    normed = rms_norm(x, weight, 1e-6, torch.float16)
    assert normed.dtype is torch.float16
    assert torch.equal(normed, rms_norm(x, weight, 1e-6).half())


def test_rotary_turns_each_pair_by_its_angle() -> None:
    angles, x = random(4, 8) * 100, random(4, 3, 16, seed=1)
    turned = torch.complex(x[..., :8], x[..., 8:]).to(torch.complex128) * torch.exp(1j * angles.double())[:, None]
    wanted = torch.cat((turned.real, turned.imag), -1).float()
    torch.testing.assert_close(rotary(x, *rotary_table(angles, torch.float32)), wanted)


def test_rotary_makes_scores_depend_on_distance_only() -> None:
    frequencies = 10000.0 ** -(torch.arange(8, dtype=torch.float64) / 8)
    query, key = random(1, 1, 16).double(), random(1, 1, 16, seed=1).double()

    def score(query_at: int, key_at: int) -> torch.Tensor:
        at = [rotary_table(frequencies[None] * position, torch.float64) for position in (query_at, key_at)]
        return (rotary(query, *at[0]) * rotary(key, *at[1])).sum()

    torch.testing.assert_close(score(9, 4), score(1009, 1004))


def test_the_scale_of_a_rotary_table_multiplies_what_is_rotated() -> None:
    angles, x = random(4, 8), random(4, 3, 16, seed=1)
    plain = rotary(x, *rotary_table(angles, torch.float32))
    torch.testing.assert_close(rotary(x, *rotary_table(angles, torch.float32, 1.25)), plain * 1.25)


def test_rotary_keeps_the_dtype_of_its_input() -> None:
    x = random(4, 3, 16).half()
    assert rotary(x, *rotary_table(random(4, 8), torch.float16)).dtype is torch.float16


def test_silu_and_mul_is_its_formula_and_leaves_its_input_alone() -> None:
    x = random(5, 24)
    before, (gate, up) = x.clone(), x.double().chunk(2, -1)
    torch.testing.assert_close(silu_and_mul(x), (gate / (1 + torch.exp(-gate)) * up).float())
    assert torch.equal(x, before)


def test_gelu_tanh_and_mul_is_its_formula_and_leaves_its_input_alone() -> None:
    x = random(5, 24)
    before, (gate, up) = x.clone(), x.double().chunk(2, -1)
    gelu = gate / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (gate + 0.044715 * gate**3)))
    torch.testing.assert_close(gelu_tanh_and_mul(x), (gelu * up).float())
    assert torch.equal(x, before)


@pytest.mark.parametrize("rows", [1, 2, 5, 63, 64, 100])
@pytest.mark.parametrize("outputs", [40, 41, 44])
def test_a_product_is_the_same_however_many_rows_it_has(rows: int, outputs: int) -> None:
    x, weight, bias = random(rows, 24), random(outputs, 24, seed=1), random(outputs, seed=2)
    wanted = x.double() @ weight.double().T
    torch.testing.assert_close(product(x, weight).double(), wanted, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(product(x, weight, bias).double(), wanted + bias.double(), atol=1e-5, rtol=1e-5)
    assert product(x, weight).is_contiguous()
    target = torch.ones(rows, outputs)
    add_product(target, x, weight)
    torch.testing.assert_close(target.double(), wanted + 1, atol=1e-5, rtol=1e-5)
