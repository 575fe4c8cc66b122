"""The parameters that the attention kernels have in common."""

from __future__ import annotations

from torch import Tensor

from runtime.kernels.cuda.driver import Argument
from runtime.kernels.paged import KVPages, PagedRows

UNLIMITED_WINDOW = 2**31 - 1
"""The window of a row that sees all tokens before it."""

_LOAD_BYTES = 16


def shared_arguments(
    query: Tensor,
    pages: KVPages,
    rows: PagedRows,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    out: Tensor,
) -> tuple[Argument, ...]:
    """The parameters behind queries, keys, values and outputs, up to `value_scale`, in the kernels' order.

    Layers of one shape have them in common. What they mean is said in flash_prefill.cu; `query` is a readable one.

    Raises:
        ValueError: the block size is not a power of two, as a configuration's always is.
    """
    metadata = rows.metadata
    num_kv_heads, num_slots, _ = pages.keys.shape
    return (
        metadata.query_starts,
        metadata.context_lens,
        metadata.block_tables,
        metadata.block_tables.stride(0),
        rows.block_shift,
        num_slots,
        query.shape[1] // num_kv_heads,
        query.stride(0),
        out.stride(0),
        UNLIMITED_WINDOW if window is None else window,
        float(scale * pages.k_scale),
        float(softcap or 0.0),
        float(pages.v_scale),
    )


def readable(query: Tensor) -> Tensor:
    """`query` [T, heads, head_dim], float16, as the kernels read it: 16 bytes at a time, the heads of a token in a row.

    A slice of a fused projection is as good as a tensor of its own; anything else is copied.
    """
    if query.is_contiguous() and query.data_ptr() % _LOAD_BYTES == 0:
        return query
    in_rows = query.stride(2) == 1 and query.stride(1) == query.shape[2]
    aligned = query.data_ptr() % _LOAD_BYTES == 0 and query.stride(0) * query.element_size() % _LOAD_BYTES == 0
    return query if in_rows and aligned else query.contiguous()
