"""Products of at most eight rows with a matrix of any weight format, which is decoded in registers.

A block computes a few outputs for all rows. Its threads share K: each reads units of its own and keeps sums of its own,
which are joined at the end. Few outputs thus keep as many threads busy as many do, in one launch and in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Activation
from runtime.kernels.triton.activation import FORMS, gated
from runtime.kernels.triton.bits import half
from runtime.kernels.triton.weight_operands import UNITS, operands, ordered_inputs
from runtime.kernels.triton.weight_units import first_column, read_unit
from runtime.kernels.variants import TritonVariant

MAX_ROWS = 8
"""From here on the arithmetic of decoding in registers takes longer than to decode once for all rows."""

_ROWS = (1, 4, MAX_ROWS)
_UNITS, _WARPS = 128, 4
_NUMBERS = (
    "m",
    "n",
    "k",
    "row_stride",
    "groups",
    "group_size",
    "group_rows",
    "has_offsets",
    "has_bias",
    "wide",
    "accumulate",
    "gate",
)
_ARGUMENTS = ("x", "codes", "scales", "offsets", "bias", "out", *_NUMBERS)


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    for form, units in UNITS.items():
        for rows in _ROWS:
            yield TritonVariant(
                name=f"gemv[{form},m{rows}]",
                module=__name__,
                function="gemv_kernel",
                signature={
                    "x": "*i64",
                    "codes": units.codes,
                    "scales": units.scales,
                    "offsets": units.offsets,
                    "bias": "*fp16",
                    "out": "*u8",
                    **dict.fromkeys(_NUMBERS, "i32"),
                },
                constexprs=_constants(form, rows),
                num_warps=_WARPS,
            )


def product(x: Tensor, weight: Tensor | PackedMatrix, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias, with float32 sums.

    Args:
        x: float16 [M, K], M from 1 to `MAX_ROWS`, K a multiple of `weight_operands.COLUMN_ALIGNMENT`.
        weight: [N, K], float16 and contiguous, or packed.
        bias: float16 [N].

    Returns:
        float16 [M, N].
    """
    out = torch.empty((x.shape[0], weight.shape[0]), dtype=torch.float16, device=x.device)
    _launch(out, x, weight, bias, accumulate=False)
    return out


def gated_product(x: Tensor, weight: Tensor | PackedMatrix, bias: Tensor | None, form: Activation) -> Tensor:
    """The gated activation of that form of x @ weight.T + bias, in one launch; the rest is as for `product`.

    Returns:
        float16 [M, N / 2]; the sums are not rounded before they are activated.
    """
    out = torch.empty((x.shape[0], weight.shape[0] // 2), dtype=torch.float16, device=x.device)
    _launch(out, x, weight, bias, accumulate=False, gate=FORMS[form])
    return out


def add_product(target: Tensor, x: Tensor, weight: Tensor | PackedMatrix) -> None:
    """Add x @ weight.T to a contiguous target [M, N], float16 or float32, in place; the rest is as for `product`."""
    _launch(target, x, weight, None, accumulate=True)


def _launch(
    out: Tensor, x: Tensor, weight: Tensor | PackedMatrix, bias: Tensor | None, *, accumulate: bool, gate: int = 0
) -> None:
    x = ordered_inputs(x, weight)
    (m, k), n = x.shape, weight.shape[0]
    parts = operands(weight)
    constants = _constants(parts.form, next(rows for rows in _ROWS if rows >= m))
    gemv_kernel[(triton.cdiv(n, constants["OUTPUTS"]),)](
        x.view(torch.int64),
        *parts.tensors(),
        x if bias is None else bias,
        out.view(torch.uint8),
        m,
        n,
        k,
        *parts.numbers(),
        int(bias is not None),
        int(out.dtype == torch.float32),
        int(accumulate),
        gate,
        **constants,
        num_warps=_WARPS,
    )


def _constants(form: str, rows: int) -> dict[str, Any]:
    """A block has four outputs, or two where a unit is large: a thread then holds 32 weights at a time."""
    units = UNITS[form]
    return {
        "FORMAT": form,
        "WEIGHTS": units.weights,
        "SIDE": units.side,
        "ROWS": rows,
        "OUTPUTS": 2 if units.weights > 8 else 4,
        "UNITS": _UNITS,
    }


# Compiled once for all values and alignments, so that what runs is what was checked.
@triton.jit(do_not_specialize=_ARGUMENTS, do_not_specialize_on_alignment=_ARGUMENTS)
def gemv_kernel(
    x,
    codes,
    scales,
    offsets,
    bias,
    out,
    m,
    n,
    k,
    row_stride,
    groups,
    group_size,
    group_rows,
    has_offsets,
    has_bias,
    wide,
    accumulate,
    gate,
    FORMAT: tl.constexpr,
    WEIGHTS: tl.constexpr,
    SIDE: tl.constexpr,
    ROWS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    UNITS: tl.constexpr,
):
    units = k // WEIGHTS
    pair = tl.arange(0, OUTPUTS * UNITS)
    output = _output(pair // UNITS, n, gate, OUTPUTS).to(tl.int64)
    row = tl.arange(0, ROWS * UNITS) // UNITS
    sums = tl.zeros((ROWS, OUTPUTS, UNITS), tl.float32)
    for start in range(0, units, UNITS):
        unit = start + pair % UNITS
        mask = (unit < units) & (output < n)
        weights = read_unit(
            codes,
            scales,
            offsets,
            output,
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
        unit = start + tl.arange(0, ROWS * UNITS) % UNITS
        mask = (unit < units) & (row < m)
        for run in tl.static_range(WEIGHTS // 4):
            place = row * (k // 4) + first_column(unit, run, WEIGHTS, SIDE) // 4
            quad = tl.reshape(tl.load(x + place, mask=mask, other=0), (ROWS, 1, UNITS))
            for field in tl.static_range(4):
                sums += half(quad >> 16 * field) * tl.reshape(weights[4 * run + field], (1, OUTPUTS, UNITS))
    output = _output(tl.arange(0, OUTPUTS), n, gate, OUTPUTS)[None, :]
    total = tl.sum(sums, 2) + tl.load(bias + output, mask=(output < n) & (has_bias != 0), other=0).to(tl.float32)
    _put_block(out, total, output, m, n, wide, accumulate, gate, ROWS, OUTPUTS)


@triton.jit
def _put_block(out, total, output, m, n, wide, accumulate, gate, ROWS: tl.constexpr, OUTPUTS: tl.constexpr):
    """Store the sums of a block, [ROWS, OUTPUTS], or what its gate makes of them."""
    row = tl.arange(0, ROWS)[:, None]
    if gate != 0:
        gates, ups = tl.split(tl.permute(tl.reshape(total, (ROWS, 2, OUTPUTS // 2)), (0, 2, 1)))
        column = tl.program_id(0) * (OUTPUTS // 2) + tl.arange(0, OUTPUTS // 2)[None, :]
        _put(out, row * (n // 2) + column, gated(gates, ups, gate), (row < m) & (column < n // 2), wide, accumulate)
    else:
        _put(out, row * n + output, total, (row < m) & (output < n), wide, accumulate)


@triton.jit
def _output(place, n, gate, OUTPUTS: tl.constexpr):
    """The outputs of a block; with a gate, its second half are the other halves of what its first half gates."""
    paired = tl.program_id(0) * (OUTPUTS // 2) + place % (OUTPUTS // 2) + place // (OUTPUTS // 2) * (n // 2)
    return tl.where(gate != 0, paired, tl.program_id(0) * OUTPUTS + place)


@triton.jit
def _put(out, place, values, mask, wide, accumulate):
    if wide != 0:
        _put_as(out.to(tl.pointer_type(tl.float32), bitcast=True) + place, values, mask, accumulate)
    else:
        _put_as(out.to(tl.pointer_type(tl.float16), bitcast=True) + place, values, mask, accumulate)


@triton.jit
def _put_as(place, values, mask, accumulate):
    before = tl.load(place, mask=mask & (accumulate != 0), other=0).to(tl.float32)
    tl.store(place, (values + before).to(place.dtype.element_ty), mask=mask)
