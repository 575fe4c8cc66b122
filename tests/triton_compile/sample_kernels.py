"""Kernels of the tests of the resource check, each with something to find."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def copy_kernel(source, target, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + place, tl.load(source + place))


@triton.jit
def dot_kernel(left, right, target, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Fed with halves, its product spills on a chip without Triton's tensor cores."""
    row, column, inner = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x = tl.load(left + row * K + inner[None, :])
    y = tl.load(right + inner[:, None] * N + column)
    tl.store(target + row * N + column, tl.dot(x, y))


@triton.jit
def wrong_kernel(source):
    tl.store(source, tl.arange(0, 3))
