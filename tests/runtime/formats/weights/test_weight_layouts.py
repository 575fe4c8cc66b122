"""What the tools of AWQ and GPTQ store is read by its definition, and what is stored back is what was read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from naive_weights import bit_string, random_matrix
from torch import Tensor

from runtime.formats.weights.awq import AWQLayout
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import COMPRESSED_MXFP4, COMPRESSED_NVFP4, GPT_OSS_MXFP4, MODELOPT_NVFP4
from runtime.formats.weights.float8 import Float8Layout
from runtime.formats.weights.gptq import GPTQLayout
from runtime.formats.weights.layout import CheckpointLayout
from runtime.formats.weights.packed_integer import IntegerLayout

torch.set_num_threads(1)
AWQ_COLUMNS = (0, 2, 4, 6, 1, 3, 5, 7)


def words(shape: tuple[int, int], seed: int) -> Tensor:
    numbers = torch.Generator().manual_seed(seed)
    return torch.randint(-(2**31), 2**31, shape, generator=numbers, dtype=torch.int64).to(torch.int32)


def scales(shape: tuple[int, int], seed: int) -> Tensor:
    return (torch.rand(shape, generator=torch.Generator().manual_seed(seed)) + 0.1).half()


def awq_columns(stored: Tensor) -> np.ndarray:
    """[R, N / 8] words -> [R, N] codes, nibble by nibble."""
    rows = np.empty((stored.shape[0], stored.shape[1] * 8), np.int64)
    for row in range(stored.shape[0]):
        for word in range(stored.shape[1]):
            value = int(stored[row, word]) % 2**32
            for nibble, column in enumerate(AWQ_COLUMNS):
                rows[row, 8 * word + column] = value >> 4 * nibble & 15
    return rows


@pytest.mark.parametrize("group_size", [0, 32, 64])
def test_awq_is_read_nibble_by_nibble(group_size: int) -> None:
    n, k = 40, 96
    groups = -(-k // group_size) if group_size else 1
    tensors = {
        ".qweight": words((k, n // 8), 0),
        ".qzeros": words((groups, n // 8), 1),
        ".scales": scales((groups, n), 2),
    }
    group_of = np.arange(k) // (group_size or k)
    codes, zeros = awq_columns(tensors[".qweight"]), awq_columns(tensors[".qzeros"])
    expected = (codes - zeros[group_of]) * tensors[".scales"].double().numpy()[group_of]
    matrix = AWQLayout(group_size).prepare(tensors, n, k, "here")
    np.testing.assert_array_equal(matrix.dequantize(torch.float32).numpy(), expected.T.astype(np.float32))


@pytest.mark.parametrize("reordered", [False, True])
@pytest.mark.parametrize("zero_offset", [0, 1])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_gptq_is_read_bit_by_bit(bits: int, zero_offset: int, reordered: bool) -> None:
    n, k, group_size = 64, 96, 32
    groups = k // group_size
    group_of = torch.arange(k, dtype=torch.int32) // group_size
    if reordered:
        group_of = group_of[torch.randperm(k, generator=torch.Generator().manual_seed(4))]
    tensors = {
        ".qweight": words((k * bits // 32, n), 0),
        ".qzeros": words((groups, n * bits // 32), 1),
        ".scales": scales((groups, n), 2),
        ".g_idx": group_of,
    }
    if bits == 8:  # A zero point of 256 is refused.
        tensors[".qzeros"] &= 0x7F7F7F7F
    codes = bit_string(tensors[".qweight"].t().contiguous().numpy(), bits).T
    zeros = bit_string(tensors[".qzeros"].numpy(), bits) + zero_offset
    of = group_of.numpy()
    expected = (codes - zeros[of]) * tensors[".scales"].double().numpy()[of]
    layout = GPTQLayout(weight_format(f"gptq_int{bits}"), group_size, zero_offset)
    matrix = layout.prepare(tensors, n, k, "here")
    assert ("order" in matrix.parts) == reordered
    np.testing.assert_array_equal(matrix.dequantize(torch.float32).numpy(), expected.T.astype(np.float32))
    assert_same(layout.store(matrix), tensors)


def test_the_largest_zero_point_of_version_1_is_beyond_the_codes() -> None:
    tensors = {
        ".qweight": torch.zeros(4, 8, dtype=torch.int32),
        ".qzeros": torch.full((1, 1), -1, dtype=torch.int32),
        ".scales": torch.ones(1, 8).half(),
    }
    matrix = GPTQLayout(weight_format("gptq_int4"), 0, 1).prepare(tensors, 8, 32, "here")
    assert (matrix.dequantize(torch.float32) == -16).all()


def test_zero_points_that_are_all_symmetric_take_no_room() -> None:
    matrix = random_matrix(weight_format("gptq_int4"), 16, 32, 32, 0)
    stored = GPTQLayout(matrix.spec, 32, 1).store(matrix)
    assert (stored[".qzeros"] == 0x77777777).all()
    assert "zeros" not in GPTQLayout(matrix.spec, 32, 1).prepare(stored, 16, 32, "here").parts


@pytest.mark.parametrize(
    "layout",
    [
        GPTQLayout(weight_format("gptq_int4"), 0, 1, ordered=True),
        GPTQLayout(weight_format("gptq_int4"), 64, 1, ordered=True),
        IntegerLayout(weight_format("int4"), 64, packed=True, symmetric=True, ordered=True),
    ],
)
def test_columns_of_one_group_need_no_order(layout: CheckpointLayout) -> None:
    stored = layout.store(random_matrix(layout.spec, 16, 64, layout.group_size, 0))
    order = next(name for name in stored if name.endswith("g_idx"))
    expected = layout.prepare(stored, 16, 64, "here").dequantize(torch.float32)
    del stored[order]
    assert torch.equal(layout.prepare(stored, 16, 64, "here").dequantize(torch.float32), expected)


def test_version_1_cannot_store_a_zero_point_of_0() -> None:
    matrix = random_matrix(weight_format("gptq_int4"), 16, 32, 32, 0, "zeros")
    matrix.parts["zeros"][0] = 0
    with pytest.raises(ValueError, match="zero points from 1 to 16 only"):
        GPTQLayout(matrix.spec, 32, 1).store(matrix)


def integer(name: str, *, packed: bool, symmetric: bool) -> IntegerLayout:
    return IntegerLayout(weight_format(name), 32, packed, symmetric)


LAYOUTS: dict[str, tuple[CheckpointLayout, tuple[str, ...]]] = {
    "awq": (AWQLayout(32), ()),
    "gptq symmetric": (GPTQLayout(weight_format("gptq_int3"), 32, 1), ()),
    "gptq reordered": (GPTQLayout(weight_format("gptq_int3"), 32, 0), ("zeros", "order")),
    "int4 packed": (integer("int4", packed=True, symmetric=True), ()),
    "int4 packed asymmetric": (integer("int4", packed=True, symmetric=False), ("zeros",)),
    "int4 packed reordered": (integer("int4", packed=True, symmetric=True), ("order",)),
    "gptq in order": (GPTQLayout(weight_format("gptq_int3"), 32, 0, ordered=True), ("zeros", "order")),
    "int4 in order": (IntegerLayout(weight_format("int4"), 32, True, True, ordered=True), ("order",)),
    "int4 in an order that changes nothing": (IntegerLayout(weight_format("int4"), 32, True, True, ordered=True), ()),
    "int8 packed": (integer("int8", packed=True, symmetric=True), ()),
    "int8 bytes": (integer("int8", packed=False, symmetric=True), ()),
    "int8 bytes asymmetric": (integer("int8", packed=False, symmetric=False), ("zeros",)),
    "fp8 tensor": (Float8Layout(weight_format("fp8_tensor")), ()),
    "fp8 channel": (Float8Layout(weight_format("fp8_channel")), ()),
    "fp8 block": (Float8Layout(weight_format("fp8_block"), ".weight_scale_inv"), ()),
    "nvfp4 modelopt": (MODELOPT_NVFP4, ()),
    "nvfp4 compressed": (COMPRESSED_NVFP4, ()),
    "mxfp4 compressed": (COMPRESSED_MXFP4, ()),
    "mxfp4 gpt-oss": (GPT_OSS_MXFP4, ()),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_stored_is_read_back(name: str) -> None:
    """Of an order, only which columns are in which group survives; it is as good as any other of these columns."""
    layout, optional = LAYOUTS[name]
    n, k = (130, 200) if name == "fp8 block" else (32, 96)
    matrix = random_matrix(layout.spec, n, k, layout.group_size, 7, *optional)
    for part in ("codes", "block_scales"):
        if part in matrix.parts:  # No NaN, of neither E4M3 nor E8M0.
            matrix.parts[part].bitwise_and_(0x77)
    if "zeros" in matrix.parts:
        matrix.parts["zeros"].clamp_(max=(1 << layout.spec.bits) - 1)
    if name == "nvfp4 compressed":
        matrix.parts["global_scale"].fill_(0.25)
    stored = layout.store(matrix)
    assert set(stored) == {
        each for each, tensor in layout.stored(n, k).items() if not tensor.optional or each in stored
    }
    found = layout.prepare(stored, n, k, "here")
    assert torch.equal(found.dequantize(torch.float32), matrix.dequantize(torch.float32))
    if "order" not in optional:
        assert_same(found.parts, matrix.parts)


def assert_same(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def test_scales_of_blocks_may_have_the_dimensions_that_modelopt_gives_them() -> None:
    layout = Float8Layout(weight_format("fp8_block"))
    matrix = random_matrix(layout.spec, 130, 200, 128, 7)
    matrix.parts["codes"].bitwise_and_(0x77)
    stored = layout.store(matrix)
    stored[".weight_scale"] = stored[".weight_scale"].view(2, 1, 2, 1)
    assert torch.equal(layout.prepare(stored, 130, 200, "here").parts["scales"], matrix.parts["scales"])


def test_a_layout_stores_only_its_own_format() -> None:
    with pytest.raises(ValueError, match="cannot store int8"):
        AWQLayout(32).store(random_matrix(weight_format("int8"), 8, 32, 32, 0))
    with pytest.raises(ValueError, match="no zero points"):
        integer("int4", packed=True, symmetric=True).store(random_matrix(weight_format("int4"), 8, 32, 32, 0, "zeros"))
