"""Decode attention on tensor cores for heads that share keys: launches grouped_decode.cu."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from runtime.kernels.cuda.arguments import UNLIMITED_WINDOW, readable, shared_arguments
from runtime.kernels.cuda.codecs import CODECS, HEAD_DIMS
from runtime.kernels.cuda.driver import DRIVER, Launch, Parameters
from runtime.kernels.paged import KVPages, PagedRows, Scratch, likeness
from runtime.kernels.splits import MOST_SPLITS, split_count
from runtime.kernels.variants import CudaVariant

MAX_GROUP = 8
"""Query heads that may share a key head: the rows of one tensor-core product."""

# By head size the warps of a block, as grouped_decode.cu has them; and what a warp stages at a time.
_WARPS = {64: 4, 128: 4, 256: 2}
_KEYS = 32

# Keys of the smallest split, by bytes of a channel: what fewer keys hand on is not small beside what they are.
LEAST_SPLIT_KEYS = {1: 1024, 2: 512}


def variants() -> Iterator[CudaVariant]:
    """Every variant that a call can need."""
    for head_dim in HEAD_DIMS:
        for codec in CODECS:
            yield _variant(codec, head_dim)


def grouped_decode(
    query: Tensor,
    pages: KVPages,
    rows: PagedRows,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    scratch: Scratch,
    out: Tensor,
    launch: Launch = DRIVER,
) -> None:
    """Attend for requests that have one row each.

    Arguments as for `runtime.kernels.reference.paged_attention.paged_decode`, with float16 `query` and `out`, a codec
    of `CODECS`, a head size of `HEAD_DIMS` and at most `MAX_GROUP` query heads a key head; `launch` runs the kernel.
    The grid depends on the width of the block tables, not on the contexts, so that a captured graph can be replayed.
    """
    query = readable(query)
    plan = scratch.once(
        (grouped_decode, likeness(query, pages, rows, scale, window, softcap)),
        lambda: _plan(query, pages, rows, scale=scale, window=window, softcap=softcap, scratch=scratch, out=out),
    )
    launch(plan.variant, plan.grid, plan.parameters.lead_with(query, pages.keys, pages.values, out))


class _Plan(NamedTuple):
    """A launch but for queries, keys, values and outputs, which lead its parameters."""

    variant: CudaVariant
    grid: tuple[int, int, int]
    parameters: Parameters


def _plan(
    query: Tensor,
    pages: KVPages,
    rows: PagedRows,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    scratch: Scratch,
    out: Tensor,
) -> _Plan:
    _, num_heads, head_dim = query.shape
    num_kv_heads, requests = pages.keys.shape[0], len(rows.query_starts)
    visible_keys = UNLIMITED_WINDOW if window is None else window
    most_keys = min(rows.metadata.block_tables.shape[1] * rows.block_size, visible_keys)
    least_split_keys = LEAST_SPLIT_KEYS[pages.keys.element_size()]
    splits = split_count(most_keys, least_split_keys, requests * num_kv_heads)
    partials = scratch.buffer((requests if splits > 1 else 0, num_heads, splits, head_dim + 2), query.device)
    counters = scratch.counters(requests * num_kv_heads, query.device)
    shared = shared_arguments(query, pages, rows, scale=scale, window=window, softcap=softcap, out=out)
    return _Plan(
        _variant(pages.codec.spec.name, head_dim),
        (num_kv_heads, splits, requests),
        Parameters((query, pages.keys, pages.values, out, *shared, partials, counters, least_split_keys)),
    )


@functools.cache
def _variant(codec: str, head_dim: int) -> CudaVariant:
    warps = _WARPS[head_dim]
    return CudaVariant(
        name=f"grouped_decode[{codec},d{head_dim}]",
        source="grouped_decode.cu",
        entry="grouped_decode",
        defines={"HEAD_DIM": head_dim, "CODEC": CODECS[codec], "MOST_SPLITS": MOST_SPLITS},
        threads=warps * 32,
        shared_bytes=(MAX_GROUP + warps * 2 * _KEYS) * head_dim * 2,
        tensor_cores=True,
    )
