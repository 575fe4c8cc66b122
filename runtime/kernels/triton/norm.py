"""Root-mean-square normalisation, alone or behind the sum that it normalises: one launch either way."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.kernels.triton.launch import kernels_of
from runtime.kernels.variants import TritonVariant

_BLOCK, _WARPS = 2048, 8
_RESIDUALS = {torch.float16: "fp16", torch.float32: "fp32"}


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    yield from map(_variant, _RESIDUALS.values())


def rms_norm(
    x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None, room: Tensor | None = None
) -> Tensor:
    """As the reference, for float16 results.

    Args:
        x: [..., d], float16 or float32, contiguous.
        weight: float32 [d].
        eps: added to the mean square.
        dtype: float16; None where `x` is float16 itself.
        room: becomes the result.
    """
    out = torch.empty_like(x, dtype=dtype) if room is None else room
    d = weight.shape[0]
    _kernel(_RESIDUALS[x.dtype])((x.numel() // d, 1, 1), x, out, weight, weight, out, d, eps, 0, 0)
    return out


def add_rms_norm(
    residual: Tensor,
    branch: Tensor,
    weight: Tensor,
    eps: float,
    dtype: torch.dtype,
    post_weight: Tensor | None = None,
    room: Tensor | None = None,
) -> Tensor:
    """As the reference, for a contiguous residual in float16 or float32, and a branch and a result in float16."""
    out = torch.empty_like(residual, dtype=dtype) if room is None else room
    d, has_post_norm = weight.shape[0], int(post_weight is not None)
    after = weight if post_weight is None else post_weight
    grid = (residual.numel() // d, 1, 1)
    _kernel(_RESIDUALS[residual.dtype])(grid, residual, branch, after, weight, out, d, eps, 1, has_post_norm)
    return out


def _variant(residual: str) -> TritonVariant:
    return TritonVariant(
        name=f"rms_norm[{residual}]",
        module=__name__,
        function="rms_norm_kernel",
        signature={
            "x": f"*{residual}",
            "branch": "*fp16",
            "post_weight": "*fp32",
            "weight": "*fp32",
            "out": "*fp16",
            "d": "i32",
            "eps": "fp32",
            "has_branch": "i32",
            "has_post_norm": "i32",
        },
        constexprs={"BLOCK": _BLOCK},
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def rms_norm_kernel(x, branch, post_weight, weight, out, d, eps, has_branch, has_post_norm, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * d
    column = tl.arange(0, BLOCK)
    post_factor = 1.0
    if has_post_norm != 0:
        squares = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, d, BLOCK):
            part = tl.load(branch + first + start + column, mask=start + column < d, other=0).to(tl.float32)
            squares += part * part
        post_factor = tl.rsqrt(tl.sum(squares, 0) / d + eps)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, d, BLOCK):
        mask = start + column < d
        total = tl.load(x + first + start + column, mask=mask, other=0)
        if has_branch != 0:
            part = tl.load(branch + first + start + column, mask=mask, other=0).to(tl.float32) * post_factor
            if has_post_norm != 0:
                part *= tl.load(post_weight + start + column, mask=mask, other=0)
            total = (total.to(tl.float32) + part).to(x.dtype.element_ty)
            tl.store(x + first + start + column, total, mask=mask)
        squares += total.to(tl.float32) * total.to(tl.float32)
    factor = tl.rsqrt(tl.sum(squares, 0) / d + eps)
    tl.debug_barrier()  # a thread may read what another one stored
    for start in range(0, d, BLOCK):
        mask = start + column < d
        total = tl.load(x + first + start + column, mask=mask, other=0).to(tl.float32)
        normed = total * factor * tl.load(weight + start + column, mask=mask, other=0)
        tl.store(out + first + start + column, normed.to(tl.float16), mask=mask)
