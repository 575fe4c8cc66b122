"""The emulator's arithmetic and exchanges: against numpy's float16, and layouts as another library states them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from emulator import Emulator

from runtime.kernels.variants import CudaVariant


def _variant(entry: str, threads: int = 32) -> CudaVariant:
    return CudaVariant(name=entry, source="arithmetic.cu", entry=entry, defines={}, threads=threads)


def _registers(halves: np.ndarray) -> torch.Tensor:
    """Neighbouring halves as the two parts of a register."""
    return torch.from_numpy(np.ascontiguousarray(halves.astype(np.float16)).view(np.int32).copy())


def _same(found: torch.Tensor, expected: np.ndarray) -> None:
    halves = found.numpy().view(np.float16)
    expected = expected.astype(np.float16)
    np.testing.assert_array_equal(np.isnan(halves), np.isnan(expected))
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(halves.view(np.uint16)[numbers], expected.view(np.uint16)[numbers])


def _every_half() -> np.ndarray:
    return np.arange(65536, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize(("which", "operation"), [(0, np.multiply), (1, np.subtract)], ids=["product", "difference"])
def test_arithmetic_of_halves_rounds_as_numpy_does(
    probes: Emulator, which: int, operation: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> None:
    generator = np.random.default_rng(0)
    x = np.concatenate([_every_half(), _every_half()])
    y = np.concatenate([generator.permutation(_every_half()), np.resize(np.float16([256, 1152, 2**-14, 0]), 65536)])
    out = torch.zeros(len(x) // 2, dtype=torch.int32)
    probes(_variant("half_arithmetic"), (1, 1, 1), (_registers(x), _registers(y), out, len(out), which))
    with np.errstate(all="ignore"):
        _same(out, operation(x, y))


def test_floats_become_halves_as_in_numpy(probes: Emulator) -> None:
    """Every half, the ties between neighbours, and both sides of each tie; subnormals and overflow are among them."""
    halves = _every_half()[:0x7C00].astype(np.float32)
    ties = (halves + np.append(halves[1:], np.float32(65536))) / 2
    near = [np.nextafter(ties, np.float32(toward)) for toward in (-np.inf, np.inf)]
    special = np.float32([np.inf, np.nan, 1e30, 1e-30, 65519.99, 65520.0, 2.0**-25, 2.0**-26])
    x = np.concatenate([halves, ties, *near, special])
    out = torch.zeros(len(x), dtype=torch.int32)
    bits = torch.from_numpy(x.view(np.int32))
    probes(_variant("half_arithmetic"), (1, 1, 1), (bits, torch.from_numpy((-x).view(np.int32)), out, len(out), 2))
    with np.errstate(over="ignore"):
        _same(out, np.stack([x, -x], 1).reshape(-1))


def _quad_pair_member(lane: int) -> tuple[int, int]:
    """The quad pair of a lane and its number in it: lanes 0-3 and 16-19 are the eight of pair 0."""
    return lane % 16 // 4, lane % 4 + lane // 16 * 4


def _strided(number: int, strides: tuple[int, ...]) -> int:
    return sum((number >> bit & 1) * stride for bit, stride in enumerate(strides))


# CUTLASS, include/cute/atom/mma_traits_sm70.hpp, gives place = f(member, value) of a column-major 8x4 or 8x8 matrix:
# (8,4):(1,8) for SM70_8x4_Row, ((4,2),4):((8,4),1) for SM70_8x4_Col, ((2,2,2),(2,2,2)):((1,16,4),(8,2,32)) for c.
def _place_a(member: int, value: int) -> tuple[int, int]:
    place = member + 8 * value
    return place % 8, place // 8


def _place_b_column(member: int, value: int) -> tuple[int, int]:
    column, k = _place_a(member, value)
    return k, column


def _place_b_row(member: int, value: int) -> tuple[int, int]:
    place = member % 4 * 8 + member // 4 * 4 + value
    return place // 8, place % 8


def _place_c(member: int, value: int) -> tuple[int, int]:
    place = _strided(member, (1, 16, 4)) + _strided(value, (8, 2, 32))
    return place % 8, place // 8


LAYOUTS = [pytest.param(0, _place_b_column, id="row.col"), pytest.param(1, _place_b_row, id="row.row")]


@pytest.mark.parametrize(("row_major_b", "place_b"), LAYOUTS)
def test_every_lane_and_register_of_a_product_is_where_the_layout_says(
    probes: Emulator, row_major_b: int, place_b: Callable[[int, int], tuple[int, int]]
) -> None:
    """Each block sets one element of a, or of b, to one: it must pick that row or column out of the other matrix."""
    generator = np.random.default_rng(1)
    single = np.eye(128).reshape(128, 32, 4)
    full = generator.integers(-8, 8, (128, 32, 4)).astype(np.float64)
    a, b = np.concatenate([single, full, full[:1]]), np.concatenate([full, single, full[1:2]])
    c = generator.integers(-8, 8, (257, 32, 8)).astype(np.float32)
    found = torch.from_numpy(c.copy())
    probes(_variant("tensor_product"), (257, 1, 1), (_registers(a), _registers(b), found, row_major_b))
    matrix_a, matrix_b, sums = np.zeros((257, 4, 8, 4)), np.zeros((257, 4, 4, 8)), np.zeros((257, 4, 8, 8))
    for lane, value in product(range(32), range(4)):
        pair, member = _quad_pair_member(lane)
        matrix_a[:, pair][:, *_place_a(member, value)] = a[:, lane, value]
        matrix_b[:, pair][:, *place_b(member, value)] = b[:, lane, value]
    result = matrix_a @ matrix_b
    for lane, value in product(range(32), range(8)):
        pair, member = _quad_pair_member(lane)
        sums[:, pair][:, *_place_c(member, value)] = found[:, lane, value].numpy() - c[:, lane, value]
    np.testing.assert_array_equal(sums, result)


def test_exchanges_of_a_warp(probes: Emulator) -> None:
    values = torch.randint(-(2**31), 2**31, (32,), dtype=torch.int64, generator=torch.Generator().manual_seed(2)).int()
    out = torch.zeros(10, 32, dtype=torch.int32)
    probes(_variant("exchanges"), (1, 1, 1), (values, out))
    lanes = torch.arange(32)
    for row, source in enumerate(
        [(lanes * 7 + 3) % 32, lanes ^ 2, lanes ^ 16, torch.where(lanes < 5, lanes, lanes - 5), (lanes + 5)]
    ):
        assert torch.equal(out[row], values[torch.where(source > 31, lanes, source)]), row
    votes = sum((int(value) & 1) << lane for lane, value in enumerate(values))
    assert [int(x) & 0xFFFFFFFF for x in out[5]] == [votes] * 32
    assert out[6:9].tolist() == [[1] * 32, [0] * 32, [0] * 32]
    for value, permuted in zip(values.tolist(), out[9].tolist(), strict=True):
        source = (value & 0xFFFFFFFF).to_bytes(4, "little") + (~value & 0xFFFFFFFF).to_bytes(4, "little")
        assert (permuted & 0xFFFFFFFF).to_bytes(4, "little") == bytes(source[i] for i in (0, 6, 1, 7))
