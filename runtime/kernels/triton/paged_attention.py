"""Attention of the few last rows of each request over paged keys: one row in decode, several where a draft is verified.

A block attends with up to four rows of one key head over a part of the context, so that keys and values are read once
for all of them. The rows of a request are the query heads of the key head, token after token. Threads share tokens:
each keeps maxima and sums of its own, which are joined at the end, so that no thread waits for another in the loop.
Where a context was split, each block stores the sums of its part and counts itself as done; the last one joins them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from runtime.kernels.paged import KVPages, PagedRows, Scratch, likeness
from runtime.kernels.splits import split_count
from runtime.kernels.triton.attention_sums import (
    add_keys,
    hand_over,
    load_queries,
    no_sums,
    part_of_context,
    store_outputs,
)
from runtime.kernels.triton.cached_rows import ENCODINGS, lanes_of, load_rows, row_words, word_elements
from runtime.kernels.triton.launch import Argument, Grid, Kernel, kernels_of
from runtime.kernels.variants import TritonVariant

HEAD_DIMS = (64, 128, 256)
"""Sizes of a head that kernels are compiled for."""

# Rows of a block.
_ROWS = (1, 4)
_WARPS = 4
# A part hands on its sums, which stays within 4 % of what it reads if it has so many keys.
LEAST_SPLIT_KEYS = 256
_LEAST_SPLIT_BYTES_PER_ROW = 128

_POINTERS = {
    "query": "*fp16",
    "keys": "*i64",
    "values": "*i64",
    "out": "*fp16",
    "partials": "*fp32",
    "counters": "*i32",
    "query_starts": "*i32",
    "query_lens": "*i32",
    "context_lens": "*i32",
    "block_tables": "*i32",
}
_NUMBERS = {
    "table_stride": "i32",
    "block_shift": "i32",
    "num_slots": "i32",
    "group": "i32",
    "num_kv_heads": "i32",
    "query_stride": "i32",
    "window": "i32",
    "least_split_keys": "i32",
    "scale_words": "i32",
    "score_scale": "fp32",
    "softcap": "fp32",
    "value_scale": "fp32",
}


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    for head_dim in HEAD_DIMS:
        for rows in _ROWS:
            yield from (_variant(encoding, head_dim, rows) for encoding in dict.fromkeys(ENCODINGS.values()))


def paged_attention(
    query: Tensor,
    pages: KVPages,
    rows: PagedRows,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    scratch: Scratch,
    out: Tensor,
) -> None:
    """Attend for requests with few rows each, causally.

    Arguments as for `runtime.kernels.reference.paged_attention.paged_prefill`, with float16 `query`, contiguous float16
    `out`, a codec of `ENCODINGS` and a head size of `HEAD_DIMS`. Any number of rows is right; keys are read anew for
    every four of a key head. The grid depends on the width of the block tables and not on the contexts, so that a
    captured graph can be replayed.
    """
    if query.stride(2) != 1 or query.stride(1) != query.shape[2]:
        query = query.contiguous()
    plan = scratch.once(
        (paged_attention, likeness(query, pages, rows, scale, window, softcap)),
        lambda: _plan(query, pages, rows, scale=scale, window=window, softcap=softcap, scratch=scratch),
    )
    plan.kernel(plan.grid, query, pages.keys, pages.values, out, *plan.shared)


class _Plan(NamedTuple):
    """A launch but for queries, keys, values and outputs."""

    kernel: Kernel
    grid: Grid
    shared: tuple[Argument, ...]


def _plan(
    query: Tensor,
    pages: KVPages,
    rows: PagedRows,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    scratch: Scratch,
) -> _Plan:
    _, num_heads, head_dim = query.shape
    num_kv_heads, num_slots, _ = pages.keys.shape
    group, pairs = num_heads // num_kv_heads, len(rows.query_lens) * num_kv_heads
    most_rows = max(rows.query_lens) * group
    tile = next((size for size in _ROWS if size >= most_rows), max(_ROWS))
    tiles = -(-most_rows // tile)
    metadata, spec = rows.metadata, pages.codec.spec
    visible_keys = metadata.block_tables.shape[1] * rows.block_size
    if window is not None:
        visible_keys = min(visible_keys, window)
    least_split_keys = max(LEAST_SPLIT_KEYS, _LEAST_SPLIT_BYTES_PER_ROW * tile // pages.keys.element_size())
    splits = split_count(visible_keys, least_split_keys, pairs * tiles)
    partials = scratch.buffer((pairs if splits > 1 else 0, tiles, splits, tile, head_dim + 2), query.device)
    counters = scratch.counters(pairs * tiles, query.device)
    encoding = ENCODINGS[spec.name]
    shared = (
        partials,
        counters,
        metadata.query_starts,
        metadata.query_lens,
        metadata.context_lens,
        metadata.block_tables,
        metadata.block_tables.stride(0),
        rows.block_shift,
        num_slots,
        *(group, num_kv_heads, query.stride(0), visible_keys, least_split_keys),
        (spec.group_size or head_dim) // word_elements(encoding),
        *(float(scale * pages.k_scale), float(softcap or 0.0), float(pages.v_scale)),
    )
    return _Plan(_kernel(encoding, head_dim, tile), (tiles, splits, pairs), shared)


def _variant(encoding: str, head_dim: int, rows: int) -> TritonVariant:
    keys = 32 * _WARPS // lanes_of(encoding, head_dim)
    return TritonVariant(
        name=f"paged_attention[{encoding},d{head_dim},m{rows}]",
        module=__name__,
        function="attend_kernel",
        signature={**_POINTERS, **_NUMBERS},
        constexprs={"ENCODING": encoding, "HEAD_DIM": head_dim, "ROWS": rows, "KEYS": keys},
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def attend_kernel(
    query,
    keys,
    values,
    out,
    partials,
    counters,
    query_starts,
    query_lens,
    context_lens,
    block_tables,
    table_stride,
    block_shift,
    num_slots,
    group,
    num_kv_heads,
    query_stride,
    window,
    least_split_keys,
    scale_words,
    score_scale,
    softcap,
    value_scale,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    pair, splits, part_index = tl.program_id(2), tl.num_programs(1), tl.program_id(1)
    request, head, first_row = pair // num_kv_heads, pair % num_kv_heads, tl.program_id(0) * ROWS
    start, length = tl.load(query_starts + request), tl.load(query_lens + request)
    before = tl.load(context_lens + request) - length
    first, stop, part = part_of_context(first_row, before, length, group, window, splits, least_split_keys, ROWS)
    begin = first + part_index * part
    end, parts = tl.minimum(begin + part, stop), tl.cdiv(stop - first, part)
    if (first_row >= length * group) | (begin >= end):
        return
    lane, limits = tl.arange(0, lanes_of(ENCODING, HEAD_DIM)), (before, first_row, group, window, softcap)
    queries = query + start * query_stride + head * group * HEAD_DIM
    asked = load_queries(queries, lane, first_row, group, length, query_stride, score_scale, ENCODING, HEAD_DIM, ROWS)
    pages = keys, values, block_tables + request * table_stride, head.to(tl.int64) * num_slots, block_shift, scale_words
    known, is_last = _sums_of_keys(asked, pages, begin, end, lane, limits, ENCODING, HEAD_DIM, ROWS, KEYS), True
    if parts > 1:
        tile, stored_rows = pair * tl.num_programs(0) + tl.program_id(0), length * group - first_row
        stored = partials + tile * splits * ROWS * (HEAD_DIM + 2)
        known, is_last = hand_over(
            known, stored, counters + tile, part_index, parts, lane, stored_rows, ENCODING, HEAD_DIM, ROWS, KEYS
        )
    if is_last:
        outputs = out + (start * num_kv_heads + head) * group * HEAD_DIM
        store_outputs(outputs, known, lane, limits, length, num_kv_heads, value_scale, ENCODING, HEAD_DIM, ROWS)


@triton.jit
def _sums_of_keys(
    asked,
    pages,
    begin,
    end,
    lane,
    limits,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    """The sums of the tokens from `begin` to `end` (excluded).

    Args:
        asked, limits: as for `add_keys`.
        pages: (keys, values, the request's table of blocks, the head's first slot, bits of a token's place in its
            block, words that share a scale).
    """
    keys, values, table, first_slot, block_shift, scale_words = pages
    tops, totals, sums = no_sums(ENCODING, HEAD_DIM, ROWS, KEYS)
    for at in range(begin, end, KEYS):
        token = at + tl.arange(0, KEYS)
        present = token < end
        block = tl.load(table + (token >> block_shift), mask=present, other=0)
        slot = (block.to(tl.int64) << block_shift) + (token & ((1 << block_shift) - 1))
        place = (first_slot + slot) * row_words(ENCODING, HEAD_DIM)
        key_rows = load_rows(keys + place, lane, present, scale_words, ENCODING, HEAD_DIM)
        value_rows = load_rows(values + place, lane, present, scale_words, ENCODING, HEAD_DIM)
        known = (tops, totals, sums)
        tops, totals, sums = add_keys(
            known, asked, key_rows, value_rows, token, present, limits, ENCODING, HEAD_DIM, ROWS
        )
    return tops, totals, sums
