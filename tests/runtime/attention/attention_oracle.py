"""Attention as its formula says, in float64, one request and one row at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape
from runtime.attention.kv_cache import PagedKVCache
from runtime.config.schema import AttentionConfig
from runtime.platforms import declared


def attend(shape: LayerShape, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Rows [n, H, D] at the end of a context of keys and values [L, KV, D]. Returns float64 [n, H, D]."""
    out = torch.empty(query.shape, dtype=torch.float64)
    for row in range(len(query)):
        position = len(keys) - len(query) + row
        first = 0 if shape.window is None else max(0, position - shape.window + 1)
        for head in range(shape.num_heads):
            shared = head // shape.gqa_ratio
            scores = keys[first : position + 1, shared].double() @ query[row, head].double() * shape.scale
            if shape.softcap is not None:
                scores = shape.softcap * torch.tanh(scores / shape.softcap)
            out[row, head] = torch.softmax(scores, 0) @ values[first : position + 1, shared].double()
    return out


def poisoned_attention(
    layers: list[LayerShape],
    num_blocks: int,
    block_size: int,
    *,
    codec: str = "auto",
    k_scale: float = 1.0,
    v_scale: float = 1.0,
    dtype: torch.dtype = torch.float32,
    route: str = "auto",
) -> Attention:
    """Attention on a CPU over a cache that is NaN wherever nothing was written."""
    cache = PagedKVCache(layers, num_blocks, block_size, codec, k_scale, v_scale, "cpu", dtype)
    for layer in range(len(layers)):
        for stored in (cache.pages(layer).keys, cache.pages(layer).values):
            stored.fill_(0x7F if stored.dtype is torch.uint8 else float("nan"))
    return Attention(layers, cache, declared("cpu"), AttentionConfig(route=route))
