"""Tokens drawn from filtered logits, in one launch and without sorting.

Every filter keeps the tokens that weigh at least so much (see `reference/filters.py`), so a threshold is all that has
to be found: by bisection on the bits of weights, which are ordered as the weights are. A block takes one row and passes
over it once for every bit at most; a row of 262,144 weights is 1 MiB, which stays in the chip's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.kernels.reference.filters import Filters
from runtime.kernels.triton.launch import kernels_of
from runtime.kernels.variants import TritonVariant

_BLOCK, _WARPS = 4096, 16


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    yield _variant()


def draw_tokens(logits: Tensor, filters: Sequence[Filters], uniforms: Sequence[float]) -> Tensor:
    """As the reference, for contiguous logits, up to the rounding of weights and of their sums."""
    rows, vocab = logits.shape
    floats = [[getattr(each, name) for each in filters] for name in ("temperature", "top_p", "min_p")]
    temperatures, top_ps, min_ps = torch.tensor(floats, dtype=torch.float32, device=logits.device)
    top_ks = torch.tensor([each.top_k for each in filters], dtype=torch.int32, device=logits.device)
    chances = torch.tensor(uniforms, dtype=torch.float64, device=logits.device)
    tokens = torch.empty(rows, dtype=torch.int64, device=logits.device)
    _kernel()((rows, 1, 1), logits, temperatures, top_ks, top_ps, min_ps, chances, tokens, vocab)
    return tokens


def _variant() -> TritonVariant:
    return TritonVariant(
        name="draw_tokens",
        module=__name__,
        function="draw_tokens_kernel",
        signature={
            "logits": "*fp32",
            "temperatures": "*fp32",
            "top_ks": "*i32",
            "top_ps": "*fp32",
            "min_ps": "*fp32",
            "uniforms": "*fp64",
            "tokens": "*i64",
            "vocab": "i32",
        },
        constexprs={"BLOCK": _BLOCK},
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def draw_tokens_kernel(logits, temperatures, top_ks, top_ps, min_ps, uniforms, tokens, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits += row.to(tl.int64) * vocab
    highest, is_sound = _highest(logits, vocab, BLOCK)
    token = tl.full((), -1, tl.int32)
    if is_sound:
        _weigh(logits, highest, tl.load(temperatures + row), vocab, BLOCK)
        tl.debug_barrier()  # a thread may read what another one stored
        least = tl.load(min_ps + row).to(tl.int32, bitcast=True)
        top_k = tl.load(top_ks + row)
        if (top_k > 0) & (top_k < vocab):
            least = tl.maximum(least, _least_of_most_likely(logits, top_k, vocab, BLOCK))
        top_p = tl.load(top_ps + row)
        if top_p < 1:
            mass = top_p.to(tl.float64) * _sum(logits, least, vocab, BLOCK)
            least = tl.maximum(least, _least_of_mass(logits, least, mass, vocab, BLOCK))
        target = tl.load(uniforms + row) * _sum(logits, least, vocab, BLOCK)
        token = _first_above(logits, least, target, vocab, BLOCK)
    tl.store(tokens + row, token.to(tl.int64))


@triton.jit
def _highest(logits, vocab, BLOCK: tl.constexpr):
    """The highest logit, and whether it is finite and no logit is NaN."""
    token = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    has_nan = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, vocab, BLOCK):
        values = tl.load(logits + start + token, mask=start + token < vocab, other=float("-inf"))
        has_nan |= (values != values).to(tl.int32)
        highest = tl.maximum(highest, values)
    best = tl.max(highest, 0)
    return best, (tl.max(has_nan, 0) == 0) & (tl.abs(best) < float("inf"))


@triton.jit
def _weigh(logits, highest, temperature, vocab, BLOCK: tl.constexpr):
    """Replace logits by weights relative to the highest, which is 1."""
    token = tl.arange(0, BLOCK)
    for start in range(0, vocab, BLOCK):
        mask = start + token < vocab
        values = tl.load(logits + start + token, mask=mask, other=float("-inf"))
        tl.store(logits + start + token, tl.exp(tl.div_rn(values - highest, temperature)), mask=mask)


@triton.jit
def _kept(weights, least, start, vocab, BLOCK: tl.constexpr):
    """Weights of a tile, float64, with zeros for those below `least` (bits of a float32)."""
    token = start + tl.arange(0, BLOCK)
    values = tl.load(weights + token, mask=token < vocab, other=0.0)
    return tl.where(values.to(tl.int32, bitcast=True) >= least, values, 0.0).to(tl.float64)


@triton.jit
def _sum(weights, least, vocab, BLOCK: tl.constexpr):
    """Sum of the weights that are kept."""
    total = tl.zeros((), tl.float64)
    for start in range(0, vocab, BLOCK):
        total += tl.sum(_kept(weights, least, start, vocab, BLOCK), 0)
    return total


@triton.jit
def _least_of_most_likely(weights, count, vocab, BLOCK: tl.constexpr):
    """Bits of a threshold that keeps the `count` largest weights, and equals of the last one."""
    token = tl.arange(0, BLOCK)
    low, high = 0, 0x3F800001  # zero keeps all, and nothing is above one
    while high - low > 1:
        middle = (low + high) // 2
        reached = tl.zeros((BLOCK,), tl.int32)
        for start in range(0, vocab, BLOCK):
            values = tl.load(weights + start + token, mask=start + token < vocab, other=-1.0)
            reached += (values.to(tl.int32, bitcast=True) >= middle).to(tl.int32)
        kept = tl.sum(reached, 0)
        low = tl.where(kept >= count, middle, low)
        high = tl.where(kept > count, high, tl.where(kept == count, low + 1, middle))
    return low


@triton.jit
def _least_of_mass(weights, least, mass, vocab, BLOCK: tl.constexpr):
    """Bits of the highest threshold whose kept weights sum to `mass` at least."""
    low, high = least, 0x3F800001
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = _sum(weights, middle, vocab, BLOCK) >= mass
        low = tl.where(is_enough, middle, low)
        high = tl.where(is_enough, high, middle)
    return low


@triton.jit
def _first_above(weights, least, target, vocab, BLOCK: tl.constexpr):
    """The first token at which the running sum of kept weights is above `target`."""
    token = tl.full((), -1, tl.int32)
    before = tl.zeros((), tl.float64)
    for start in range(0, vocab, BLOCK):
        kept = _kept(weights, least, start, vocab, BLOCK)
        after = before + tl.sum(kept, 0)
        if (token < 0) & (after > target):
            place = start + tl.arange(0, BLOCK)
            is_above = (before + tl.cumsum(kept, 0) > target) & (kept > 0)
            first = tl.min(tl.where(is_above, place, vocab), 0)
            # The tile's sum and the end of its running sum may differ by rounding.
            token = tl.where(first < vocab, first, tl.max(tl.where(kept > 0, place, -1), 0))
        before = after
    return token
