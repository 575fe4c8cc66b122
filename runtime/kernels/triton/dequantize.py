"""A packed matrix -> float16, some rows at a time, for products of many rows."""

from __future__ import annotations

from collections.abc import Iterator

import triton
import triton.language as tl
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.triton.launch import kernels_of
from runtime.kernels.triton.weight_operands import UNITS, operands
from runtime.kernels.triton.weight_units import first_column, read_unit
from runtime.kernels.variants import TritonVariant

_OUTPUTS, _UNITS, _WARPS = 4, 128, 4
_NUMBERS = ("first_row", "rows", "k", "row_stride", "groups", "group_size", "group_rows", "has_offsets")


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    yield from (_variant(form) for form in UNITS if form != "fp16")


def dequantize(weight: PackedMatrix, first_row: int, out: Tensor) -> None:
    """Decode rows of a matrix; columns are in the order in which they are stored.

    Args:
        weight: [N, K], K a multiple of `weight_operands.COLUMN_ALIGNMENT`.
        first_row: the row that becomes the first of `out`.
        out: float16 [R, K], contiguous, with first_row + R <= N; computed in float32, rounded to nearest even.
    """
    rows, k = out.shape
    parts = operands(weight)
    units = k // UNITS[parts.form].weights
    grid = triton.cdiv(rows, _OUTPUTS), triton.cdiv(units, _UNITS), 1
    _kernel(parts.form)(grid, *parts.tensors(), out, first_row, rows, k, *parts.numbers())


def _variant(form: str) -> TritonVariant:
    units = UNITS[form]
    return TritonVariant(
        name=f"dequantize[{form}]",
        module=__name__,
        function="dequantize_kernel",
        signature={
            "codes": units.codes,
            "scales": units.scales,
            "offsets": units.offsets,
            "out": "*i64",
            **dict.fromkeys(_NUMBERS, "i32"),
        },
        constexprs={
            "FORMAT": form,
            "WEIGHTS": units.weights,
            "SIDE": units.side,
            "OUTPUTS": _OUTPUTS,
            "UNITS": _UNITS,
        },
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def dequantize_kernel(
    codes,
    scales,
    offsets,
    out,
    first_row,
    rows,
    k,
    row_stride,
    groups,
    group_size,
    group_rows,
    has_offsets,
    FORMAT: tl.constexpr,
    WEIGHTS: tl.constexpr,
    SIDE: tl.constexpr,
    OUTPUTS: tl.constexpr,
    UNITS: tl.constexpr,
):
    pair = tl.arange(0, OUTPUTS * UNITS)
    row = (tl.program_id(0) * OUTPUTS + pair // UNITS).to(tl.int64)
    unit = tl.program_id(1) * UNITS + pair % UNITS
    mask = (unit < k // WEIGHTS) & (row < rows)
    weights = read_unit(
        codes,
        scales,
        offsets,
        first_row + row,
        unit,
        mask,
        row_stride,
        groups,
        group_size,
        group_rows,
        has_offsets,
        FORMAT,
        WEIGHTS,
    )
    for run in tl.static_range(WEIGHTS // 4):
        quad = tl.zeros((OUTPUTS * UNITS,), tl.int64)
        for field in tl.static_range(4):
            bits = weights[4 * run + field].to(tl.float16).to(tl.int16, bitcast=True).to(tl.int64) & 0xFFFF
            quad |= bits << 16 * field
        tl.store(out + row * (k // 4) + first_column(unit, run, WEIGHTS, SIDE) // 4, quad, mask=mask)
