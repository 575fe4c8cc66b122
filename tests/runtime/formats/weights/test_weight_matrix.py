"""A packed matrix means what its format's definition says, whatever its bytes are."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import gguf
import numpy as np
import pytest
import torch
from naive_weights import decode, random_matrix

from runtime.errors import ConfigError
from runtime.formats.weights.declarations import WEIGHT_FORMATS, admission, weight_format
from runtime.formats.weights.decoding import ggml_type
from runtime.formats.weights.matrix import PackedMatrix, concat_refusal, concat_rows

torch.set_num_threads(1)
COMPUTED = [spec.name for spec in WEIGHT_FORMATS if spec.layout != "gguf"]
BLOCKS = [spec.name for spec in WEIGHT_FORMATS if spec.layout == "gguf"]
WITH_OPTIONAL_PARTS = [
    (name, optional)
    for name in COMPUTED
    for count in range(3)
    for optional in combinations(weight_format(name).optional_parts, count)
]
SHAPES = {"fp8_block": (130, 200), "fp8_tensor": (5, 24), "fp8_channel": (5, 24), "mxfp4": (3, 64), "nvfp4": (3, 48)}


def some_matrix(name: str, seed: int, *optional: str) -> PackedMatrix:
    spec = weight_format(name)
    n, k = SHAPES.get(name, (32, 96))
    return random_matrix(spec, n, k, 64 if spec.layout == "integer" else spec.group_sizes[0], seed, *optional)


def bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("name", "optional"), WITH_OPTIONAL_PARTS)
def test_weights_are_those_of_the_definition_to_the_last_bit(name: str, optional: tuple[str, ...], seed: int) -> None:
    matrix = some_matrix(name, seed, *optional)
    found, expected = matrix.dequantize(torch.float32).numpy(), decode(matrix)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(bits(np.nan_to_num(found)), bits(np.nan_to_num(expected)))


@pytest.mark.parametrize("group_size", [0, 32, 128])
def test_groups_may_span_a_row_or_end_short_of_their_size(group_size: int) -> None:
    matrix = random_matrix(weight_format("int4"), 3, 160, group_size, 1, "zeros")
    assert matrix.parts["scales"].shape[1] == {0: 1, 32: 5, 128: 2}[group_size]
    np.testing.assert_array_equal(matrix.dequantize(torch.float32).numpy(), decode(matrix).astype(np.float32))


def test_mxfp4_knows_every_scale_with_every_code() -> None:
    """Scale 0 is 2**-127, a subnormal number in float32, and 255 is NaN; the largest products overflow."""
    codes = torch.arange(16, dtype=torch.uint8)
    row = (codes[::2] | codes[1::2] << 4).repeat(2)
    parts = {"codes": row.repeat(256, 1), "block_scales": torch.arange(256, dtype=torch.uint8).view(256, 1)}
    matrix = PackedMatrix(weight_format("mxfp4"), (256, 32), 32, parts)
    with np.errstate(over="ignore"):
        expected = decode(matrix).astype(np.float32)
    found = matrix.dequantize(torch.float32).numpy()
    assert np.isnan(found[255]).all()
    np.testing.assert_array_equal(bits(found[:255]), bits(expected[:255]))
    assert float(found[0, 1]) == 2.0**-128


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_decode_as_the_gguf_package_says(name: str) -> None:
    """Random bytes make scales of every kind: subnormal, infinite, NaN."""
    spec = weight_format(name)
    matrix = random_matrix(spec, 5, 512, spec.group_sizes[0], 1)
    kind = gguf.GGMLQuantizationType[ggml_type(spec).name]
    with np.errstate(all="ignore"):
        expected = gguf.dequantize(matrix.parts["blocks"].numpy(), kind)
    np.testing.assert_array_equal(bits(matrix.dequantize(torch.float32).numpy()), bits(expected))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types_are_the_float32_weights_rounded(dtype: torch.dtype) -> None:
    matrix = some_matrix("awq_int4", 3)
    assert torch.equal(matrix.dequantize(dtype), matrix.dequantize(torch.float32).to(dtype))


@pytest.mark.parametrize("name", ["int8", "fp8_block", "gguf_q8_0"])
def test_nothing_is_lost_where_chunks_of_rows_meet(name: str) -> None:
    """700 rows of 512 weights take three chunks; each row alone takes one."""
    spec = weight_format(name)
    matrix = random_matrix(spec, 700, 512, spec.group_sizes[-1], 1)
    found = matrix.dequantize(torch.float32)
    if name == "fp8_block":
        scales = matrix.parts["scales"].repeat_interleave(128, 0)[:700].repeat_interleave(128, 1)[:, :512]
        expected = matrix.parts["codes"].view(torch.float8_e4m3fn).float() * scales
    else:
        rows = [matrix.select_rows(torch.tensor([row])).dequantize(torch.float32) for row in range(700)]
        expected = torch.cat(rows)
    assert torch.equal(found.nan_to_num(9.0), expected.nan_to_num(9.0))


def test_an_order_gathers_the_inputs_of_a_product() -> None:
    matrix = some_matrix("gptq_int4", 2, "order")
    straight = PackedMatrix(
        matrix.spec, matrix.shape, matrix.group_size, {k: v for k, v in matrix.parts.items() if k != "order"}
    )
    x = torch.randn(4, matrix.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gathered = x[:, matrix.parts["order"].long()] @ straight.dequantize(torch.float64).t()
    torch.testing.assert_close(x @ matrix.dequantize(torch.float64).t(), gathered)


@pytest.mark.parametrize("name", [*COMPUTED, "gguf_q4_k"])
def test_rows_of_several_matrices_stand_in_one(name: str) -> None:
    spec = weight_format(name)
    group_size = 64 if spec.layout == "integer" else spec.group_sizes[0]
    matrices = [random_matrix(spec, 128, 256, group_size, seed) for seed in range(3)]
    if "global_scale" in spec.parts:
        shared = {"global_scale": matrices[0].parts["global_scale"]}
        matrices = [replace(matrix, parts={**matrix.parts, **shared}) for matrix in matrices]
    joined = concat_rows(matrices)
    expected = torch.cat([matrix.dequantize(torch.float32) for matrix in matrices])
    assert torch.equal(joined.dequantize(torch.float32).nan_to_num(9.0), expected.nan_to_num(9.0))
    assert joined.spec.name == ("fp8_channel" if name == "fp8_tensor" else name)


def test_rows_that_cannot_stand_in_one_matrix_are_refused_with_the_reason() -> None:
    int8, gptq, fp8 = weight_format("int8"), weight_format("gptq_int4"), weight_format("fp8_block")
    cases = {
        "int8 and gptq_int4": [random_matrix(int8, 8, 32, 0, 0), random_matrix(gptq, 8, 32, 0, 0)],
        "groups of 0 and 32": [random_matrix(int8, 8, 32, 0, 0), random_matrix(int8, 8, 32, 32, 0)],
        "32 and 64 inputs": [random_matrix(int8, 8, 32, 0, 0), random_matrix(int8, 8, 64, 0, 0)],
        "zeros": [random_matrix(int8, 8, 32, 0, 0, "zeros"), random_matrix(int8, 8, 32, 0, 0)],
        "each has its own order": [random_matrix(int8, 8, 32, 0, seed, "order") for seed in range(2)],
        "each has its own global_scale": [random_matrix(weight_format("nvfp4"), 8, 32, 16, seed) for seed in range(2)],
        "blocks of 128 rows would be split": [random_matrix(fp8, 100, 32, 128, seed) for seed in range(2)],
    }
    for reason, matrices in cases.items():
        assert reason in (concat_refusal(matrices) or "")
        with pytest.raises(ValueError, match=reason):
            concat_rows(matrices)


@pytest.mark.parametrize("name", ["gguf_q6_k", "mxfp4", "nvfp4", "int8"])
def test_selected_rows_are_the_rows(name: str) -> None:
    spec = weight_format(name)
    matrix = random_matrix(spec, 9, 256, spec.group_sizes[0], 4)
    index = torch.tensor([3, 0, 8, 3])
    found, expected = matrix.select_rows(index).dequantize(torch.float32), matrix.dequantize(torch.float32)[index]
    assert torch.equal(found.nan_to_num(9.0), expected.nan_to_num(9.0))


def test_rows_that_share_scales_are_not_selected() -> None:
    with pytest.raises(ValueError, match="share scales"):
        some_matrix("fp8_block", 0).select_rows(torch.tensor([0]))


def test_bytes_and_devices_are_those_of_the_parts() -> None:
    matrix = some_matrix("awq_int4", 0)
    assert matrix.nbytes == 32 * 48 + 2 * 32 * 2 + 32 * 2
    assert matrix.to("cpu") is matrix
    assert matrix.to("meta").device.type == "meta"
    empty = PackedMatrix.empty(matrix.spec, *matrix.shape, 64, "meta", ("order",) * 0)
    assert empty.nbytes == matrix.nbytes


def test_parts_of_another_kind_are_refused() -> None:
    matrix = some_matrix("awq_int4", 0)
    for change, match in (
        ({"codes": matrix.parts["codes"][:, :-1]}, "codes"),
        ({"scales": matrix.parts["scales"].float()}, "scales"),
        ({"codes": matrix.parts["codes"].repeat(1, 2)[:, ::2]}, "codes"),
        ({"order": torch.arange(96, dtype=torch.int32)}, "is made of"),
    ):
        with pytest.raises(ValueError, match=match):
            replace(matrix, parts={**matrix.parts, **change})
    with pytest.raises(ValueError, match="is made of"):
        replace(matrix, parts={"codes": matrix.parts["codes"]})


@pytest.mark.parametrize(
    ("name", "n", "k", "group_size", "reason"),
    [
        ("awq_int4", 12, 64, 64, "12 outputs are no multiple of 8"),
        ("gptq_int3", 32, 48, 0, "48 inputs are no multiple of 32"),
        ("nvfp4", 1, 24, 16, "24 inputs are no multiple of 16"),
        ("gguf_q4_k", 1, 128, 256, "128 inputs are no multiple of 256"),
        ("int8", 4, 64, 48, "groups of 48"),
        ("fp8_tensor", 0, 4, 0, "at least one"),
    ],
)
def test_what_a_format_cannot_hold_is_named(name: str, n: int, k: int, group_size: int, reason: str) -> None:
    assert reason in (admission(weight_format(name), n, k, group_size) or "")


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'awq_int4'"):
        weight_format("awq_int5")
