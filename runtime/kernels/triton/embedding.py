"""Rows of an embedding table as the start of the residual stream."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.triton.dequantize import dequantize
from runtime.kernels.triton.launch import kernels_of
from runtime.kernels.triton.weight_operands import COLUMN_ALIGNMENT
from runtime.kernels.variants import TritonVariant

_BLOCK, _WARPS = 1024, 4
_RESIDUALS = {torch.float16: "fp16", torch.float32: "fp32"}


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    yield from map(_variant, _RESIDUALS.values())


def embedding(
    table: Tensor | PackedMatrix, tokens: Tensor, dtype: torch.dtype, scale: float, room: Tensor | None = None
) -> Tensor:
    """As the reference, for a float16 table or a packed one, into float16 or float32.

    Rows of a packed table are picked first, so that only these are decoded; nothing of a GGUF table goes through the
    host, so that a graph can hold it.
    """
    if isinstance(table, PackedMatrix):
        table, tokens = _decoded(table.select_rows(tokens)), torch.arange(len(tokens), device=tokens.device)
    d = table.shape[1]
    out = torch.empty((len(tokens), d), dtype=dtype, device=tokens.device) if room is None else room
    _kernel(_RESIDUALS[dtype])((len(tokens), triton.cdiv(d, _BLOCK), 1), table, tokens, out, d, scale)
    return out


def _decoded(rows: PackedMatrix) -> Tensor:
    """[T, d] in float16."""
    if rows.shape[1] % COLUMN_ALIGNMENT or "order" in rows.parts:
        return rows.dequantize(torch.float16)
    decoded = torch.empty(rows.shape, dtype=torch.float16, device=rows.device)
    dequantize(rows, 0, decoded)
    return decoded


def _variant(residual: str) -> TritonVariant:
    return TritonVariant(
        name=f"embedding[{residual}]",
        module=__name__,
        function="embedding_kernel",
        signature={"table": "*fp16", "tokens": "*i64", "out": f"*{residual}", "d": "i32", "scale": "fp32"},
        constexprs={"BLOCK": _BLOCK},
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def embedding_kernel(table, tokens, out, d, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < d
    values = tl.load(table + tl.load(tokens + row) * d + column, mask=mask, other=0).to(tl.float32)
    tl.store(out + row * d + column, (values * scale).to(out.dtype.element_ty), mask=mask)
