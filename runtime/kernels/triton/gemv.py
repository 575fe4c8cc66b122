"""Products of at most eight rows with a matrix of any weight format, which is decoded in registers.

A block computes a few outputs for all rows. Its threads share K: each reads units of its own and keeps sums of its own,
which are joined at the end. Few outputs thus keep as many threads busy as many do, in one launch and in a fixed order.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Activation
from runtime.kernels.triton.activation import FORMS, gated
from runtime.kernels.triton.bits import half
from runtime.kernels.triton.launch import Kernel, kernels_of
from runtime.kernels.triton.weight_operands import UNITS, column_order, operands, ordered_inputs
from runtime.kernels.triton.weight_units import first_column, read_unit
from runtime.kernels.variants import TritonVariant

Weight = Tensor | PackedMatrix

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


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    yield from (_variant(form, rows) for form in UNITS for rows in _ROWS)


class Gemv:
    """The products of few rows with one weight, and all of their launches that is the same for every call.

    It is prepared once, by whoever holds the weight, and called in every step.
    """

    def __init__(self, weight: Weight, bias: Tensor | None = None, activation: Activation | None = None) -> None:
        """Prepare a product with float32 sums, and what becomes of the sums before they are rounded.

        Args:
            weight: [N, K], float16 and contiguous, or packed; K is a multiple of `weight_operands.COLUMN_ALIGNMENT`.
            bias: float16 [N].
            activation: the result is this gated activation of the product, [M, N / 2].
        """
        (outputs, inputs), parts = weight.shape, operands(weight)
        self._order = column_order(weight)
        self._columns = outputs if activation is None else outputs // 2
        self._kernels = _kernels_by_rows(parts.form)
        self._grid = triton.cdiv(outputs, _outputs(parts.form)), 1, 1
        self._pointers = *parts.tensors(), parts.codes if bias is None else bias
        self._numbers = outputs, inputs, *parts.numbers(), int(bias is not None)
        self._gate = 0 if activation is None else FORMS[activation]

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        """x @ weight.T, with the bias and the activation that were prepared.

        Args:
            x: float16 [M, K], M from 1 to `MAX_ROWS`.
            room: becomes the result.

        Returns:
            float16 [M, N], or [M, N / 2] if it is gated.
        """
        rows = x.shape[0]
        out = torch.empty((rows, self._columns), dtype=torch.float16, device=x.device) if room is None else room
        x = ordered_inputs(x, self._order)
        self._kernels[rows](self._grid, x, *self._pointers, out, rows, *self._numbers, 0, 0, self._gate)
        return out

    def add_to(self, target: Tensor, x: Tensor) -> None:
        """Add what a call would return to a contiguous target of that size, float16 or float32, in place."""
        rows, is_wide = x.shape[0], int(target.dtype is torch.float32)
        x = ordered_inputs(x, self._order)
        self._kernels[rows](self._grid, x, *self._pointers, target, rows, *self._numbers, is_wide, 1, self._gate)


def product(x: Tensor, weight: Weight, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias, [M, N]; see `Gemv`."""
    return Gemv(weight, bias)(x)


def gated_product(x: Tensor, weight: Weight, bias: Tensor | None, form: Activation) -> Tensor:
    """The gated activation of that form of x @ weight.T + bias, [M, N / 2]; see `Gemv`."""
    return Gemv(weight, bias, form)(x)


def add_product(target: Tensor, x: Tensor, weight: Weight) -> None:
    """Add x @ weight.T to a target [M, N], in place; see `Gemv`."""
    Gemv(weight).add_to(target, x)


def _variant(form: str, rows: int) -> TritonVariant:
    units = UNITS[form]
    return TritonVariant(
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
        constexprs={
            "FORMAT": form,
            "WEIGHTS": units.weights,
            "SIDE": units.side,
            "ROWS": rows,
            "OUTPUTS": _outputs(form),
            "UNITS": _UNITS,
        },
        num_warps=_WARPS,
    )


def _outputs(form: str) -> int:
    """Outputs of a block: fewer where a unit is large, since a thread then holds 32 weights at a time."""
    return 2 if UNITS[form].weights > 8 else 4


_kernel = kernels_of(_variant)


@functools.cache
def _kernels_by_rows(form: str) -> tuple[Kernel, ...]:
    """The kernel for each number of rows, up to `MAX_ROWS`."""
    return tuple(_kernel(form, next(size for size in _ROWS if size >= rows)) for rows in range(MAX_ROWS + 1))


@triton.jit
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
