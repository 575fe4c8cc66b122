"""Attention over paged keys and values, in torch: float32 arithmetic whatever the cache stores.

Pages that lie side by side, which is what a block pool hands out as long as it can, are read where they are; others are
gathered. Only keys that a row can see are ever read or decoded.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from runtime.kernels.paged import KVPages, PagedRows, Scratch, Span

# Rows of a request that share one mask: it bounds the mask's memory, and keys that no row of the tile sees are skipped.
# torch's own causal attention skips keys by the 512 only, which is a third dearer for a prompt of that length.
QUERY_TILE = 128


def paged_decode(
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
    """Attend for requests that have one row each.

    Args:
        query: [T, num_heads, head_dim], any float dtype; head h reads the keys of head h // (num_heads / num_kv_heads).
        pages: the layer's cache, which holds this step's keys and values already.
        rows: which rows of `query`, in ascending order, and what they see.
        scale: multiplies the scores.
        window: how many tokens a row sees, itself included; None for all.
        softcap: scores become softcap * tanh(scores / softcap); None leaves them.
        scratch: memory of this step.
        out: [T, num_heads, head_dim]; the rows of these requests are written, the others are left alone.
    """
    del scratch  # one row needs no mask
    spanned = slice(rows.query_starts[0], rows.query_starts[-1] + 1)
    # Products go straight to their place: at one row a request, copying costs as much as computing.
    wide = out if out.dtype is torch.float32 else torch.empty_like(out, dtype=torch.float32)
    queries = by_key_head(query[spanned].float() * scale, pages).unbind(0)
    targets = by_key_head(wide[spanned], pages).unbind(0)
    for row, span in zip(rows.query_starts, rows.spans(window), strict=True):
        keys, values = read_span(pages, span, torch.float32)
        weights = _scores(queries[row - spanned.start], keys, softcap).softmax(-1)
        torch.bmm(weights, values, out=targets[row - spanned.start])
    if wide is not out:
        index = torch.tensor(rows.query_starts, device=out.device)
        out.index_copy_(0, index, wide[index].to(out.dtype))


def paged_prefill(
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
    """Attend for requests with any number of rows, causally; arguments as for `paged_decode`."""
    grouped, target = by_key_head(query, pages), by_key_head(out, pages)
    for start, length, span in zip(rows.query_starts, rows.query_lens, rows.spans(window), strict=True):
        keys, values = read_span(pages, span, torch.float32)
        # Positions count from the first token of the span; the request's first row stands at `before`.
        before = span.tokens - length
        for at in range(0, length, QUERY_TILE):
            stop = min(at + QUERY_TILE, length)
            seen = slice(0 if window is None else max(0, before + at - window + 1), before + stop)
            target[start + at : start + stop] = _attend_tile(
                grouped[start + at : start + stop].permute(1, 2, 0, 3).float(),
                keys[:, seen],
                values[:, seen],
                scale,
                softcap,
                causal_bias(stop - at, seen.stop - seen.start, window, query.device, scratch),
            ).permute(2, 0, 1, 3)


def by_key_head(rows: Tensor, pages: KVPages) -> Tensor:
    """[n, num_heads, head_dim] seen as [n, num_kv_heads, G, head_dim]: the heads that share a key head together."""
    return rows.view(rows.shape[0], pages.keys.shape[0], -1, rows.shape[2])


def read_span(pages: KVPages, span: Span, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Keys and values of a span, each [num_kv_heads, L, head_dim]; a view where nothing has to be moved."""
    if len(span.runs) == 1:
        slot, tokens = span.runs[0]
        keys, values = pages.keys.narrow(1, slot, tokens), pages.values.narrow(1, slot, tokens)
    else:
        keys, values = pages.keys.index_select(1, span.slots), pages.values.index_select(1, span.slots)
    codec = pages.codec
    return codec.decode(keys, pages.k_scale, dtype), codec.decode(values, pages.v_scale, dtype)


def _scores(query: Tensor, keys: Tensor, softcap: float | None) -> Tensor:
    """[num_kv_heads, M, L] from scaled queries [num_kv_heads, M, head_dim] and keys [num_kv_heads, L, head_dim]."""
    scores = torch.bmm(query, keys.mT)
    return scores if softcap is None else scores.div_(softcap).tanh_().mul_(softcap)


def _attend_tile(
    query: Tensor, keys: Tensor, values: Tensor, scale: float, softcap: float | None, bias: Tensor
) -> Tensor:
    """Attention of a tile of rows, [num_kv_heads, G, n, head_dim], over [num_kv_heads, L, head_dim].

    `bias` [n, L] is added to the scores.
    """
    num_kv_heads, group, rows, head_dim = query.shape
    if softcap is None:
        # The group is an expanded view: a key head is read by all of its query heads and never copied.
        key, value = (x.unsqueeze(1).expand(-1, group, -1, -1) for x in (keys, values))
        return functional.scaled_dot_product_attention(query, key, value, bias, scale=scale)
    scores = _scores((query * scale).reshape(num_kv_heads, group * rows, head_dim), keys, softcap)
    scores.view(num_kv_heads, group, rows, -1).add_(bias)
    return torch.bmm(scores.softmax(-1), values).view(query.shape)


def causal_bias(rows: int, keys: int, window: int | None, device: torch.device, scratch: Scratch) -> Tensor:
    """Float32 [rows, keys]: 0 where a row sees a key, -inf elsewhere, the last row standing at the last key."""

    def build() -> Tensor:
        own = torch.arange(keys - rows, keys, device=device).unsqueeze(1)
        key = torch.arange(keys, device=device)
        seen = key <= own if window is None else (key <= own) & (key > own - window)
        return torch.zeros(rows, keys, device=device).masked_fill_(~seen, float("-inf"))

    return scratch.once(("causal bias", rows, keys, window), build)
