"""Root-mean-square normalisation, alone or behind the sum that it normalises: one launch either way."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.kernels.variants import TritonVariant

_BLOCK, _WARPS = 2048, 8
_POINTERS = {"x": "", "branch": "*fp16", "post_weight": "*fp32", "weight": "*fp32", "out": "*fp16"}
_NUMBERS = {"d": "i32", "eps": "fp32", "has_branch": "i32", "has_post_norm": "i32"}
_ARGUMENTS = (*_POINTERS, *_NUMBERS)


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    for residual in ("fp16", "fp32"):
        yield TritonVariant(
            name=f"rms_norm[{residual}]",
            module=__name__,
            function="rms_norm_kernel",
            signature={**_POINTERS, "x": f"*{residual}", **_NUMBERS},
            constexprs={"BLOCK": _BLOCK},
            num_warps=_WARPS,
        )


def rms_norm(x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None) -> Tensor:
    """As the reference, for float16 results.

    Args:
        x: [..., d], float16 or float32, contiguous.
        weight: float32 [d].
        eps: added to the mean square.
        dtype: float16; None where `x` is float16 itself.
    """
    return _launch(x, None, None, weight, eps, x.dtype if dtype is None else dtype)


def add_rms_norm(
    residual: Tensor, branch: Tensor, weight: Tensor, eps: float, dtype: torch.dtype, post_weight: Tensor | None = None
) -> Tensor:
    """As the reference, for a contiguous residual in float16 or float32, and a branch and a result in float16."""
    return _launch(residual, branch, post_weight, weight, eps, dtype)


def _launch(
    x: Tensor, branch: Tensor | None, post_weight: Tensor | None, weight: Tensor, eps: float, dtype: torch.dtype
) -> Tensor:
    d = x.shape[-1]
    out = torch.empty_like(x, dtype=dtype)
    rms_norm_kernel[(x.numel() // d,)](
        x,
        out if branch is None else branch,
        weight if post_weight is None else post_weight,
        weight,
        out,
        d,
        eps,
        int(branch is not None),
        int(post_weight is not None),
        BLOCK=_BLOCK,
        num_warps=_WARPS,
    )
    return out


# Compiled once for all values and alignments, so that what runs is what was checked.
@triton.jit(do_not_specialize=_ARGUMENTS, do_not_specialize_on_alignment=_ARGUMENTS)
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
