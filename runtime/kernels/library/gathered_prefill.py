"""Prefill attention by torch's own kernel, over keys and values that are gathered from their pages first.

On a CUDA device without FlashAttention that is the memory-efficient one, which multiplies in float16 on tensor cores.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from runtime.kernels.paged import KVPages, PagedRows, Scratch
from runtime.kernels.reference.paged_attention import by_key_head, causal_bias, read_span

# Rows of a request that share one mask, which takes as many bytes as twice so many keys.
QUERY_TILE = 1024


def gathered_prefill(
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
    """Attend for requests with any number of rows, causally.

    Arguments as for `runtime.kernels.reference.paged_attention.paged_prefill`. Products are in the query's dtype.

    Raises:
        ValueError: there is a soft cap, which torch's kernels do not know.
    """
    if softcap is not None:
        raise ValueError("torch's attention cannot apply a soft cap")
    grouped, target = by_key_head(query, pages), by_key_head(out, pages)
    group = grouped.shape[2]
    for start, length, span in zip(rows.query_starts, rows.query_lens, rows.spans(window), strict=True):
        # The group is an expanded view: a key head is read by all of its query heads and never copied.
        keys, values = (each.unsqueeze(1).expand(-1, group, -1, -1) for each in read_span(pages, span, query.dtype))
        before = span.tokens - length
        whole = before == 0 and window is None
        for at in range(0, length, length if whole else QUERY_TILE):
            stop = length if whole else min(at + QUERY_TILE, length)
            seen = slice(0 if window is None else max(0, before + at - window + 1), before + stop)
            bias = None
            if not whole:
                bias = causal_bias(stop - at, seen.stop - seen.start, window, query.device, scratch).to(query.dtype)
            attended = functional.scaled_dot_product_attention(
                grouped[start + at : start + stop].permute(1, 2, 0, 3),
                keys[:, :, seen],
                values[:, :, seen],
                bias,
                is_causal=whole,
                scale=scale,
            )
            target[start + at : start + stop] = attended.permute(2, 0, 1, 3)
