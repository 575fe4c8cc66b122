"""Gated activations: the feed-forward's gate applied to its other half."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import triton
import triton.language as tl
from torch import Tensor

from runtime.kernels.gate import Activation
from runtime.kernels.triton.launch import kernels_of
from runtime.kernels.variants import TritonVariant

FORMS: Mapping[Activation, int] = {"silu": 1, "gelu_tanh": 2}
"""What `gated` calls them."""

_BLOCK, _WARPS = 1024, 4


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    yield _variant()


def silu_and_mul(x: Tensor) -> Tensor:
    """As the reference, for contiguous float16."""
    return _launch(x, "silu")


def gelu_tanh_and_mul(x: Tensor) -> Tensor:
    """As the reference, for contiguous float16."""
    return _launch(x, "gelu_tanh")


def _launch(x: Tensor, form: Activation) -> Tensor:
    width = x.shape[-1] // 2
    out = x.new_empty(*x.shape[:-1], width)
    _kernel()((out.numel() // width, triton.cdiv(width, _BLOCK), 1), x, out, width, FORMS[form])
    return out


def _variant() -> TritonVariant:
    return TritonVariant(
        name="gated_activation",
        module=__name__,
        function="gated_activation_kernel",
        signature={"x": "*fp16", "out": "*fp16", "width": "i32", "form": "i32"},
        constexprs={"BLOCK": _BLOCK},
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def gated(gate, up, form):
    """The activation of float32 `gate`, times `up`."""
    # (1 + tanh(u)) / 2 is a logistic function as well, of 2u = sqrt(8 / pi) (x + 0.044715 x^3).
    gelu = 1.5957691216057308 * (gate + 0.044715 * gate * gate * gate)
    return gate / (1 + tl.exp(-tl.where(form == 2, gelu, gate))) * up


@triton.jit
def gated_activation_kernel(x, out, width, form, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < width
    gate = tl.load(x + row * 2 * width + column, mask=mask, other=0).to(tl.float32)
    up = tl.load(x + row * 2 * width + width + column, mask=mask, other=0).to(tl.float32)
    tl.store(out + row * width + column, gated(gate, up, form).to(tl.float16), mask=mask)
