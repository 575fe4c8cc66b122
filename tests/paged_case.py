"""Random paged attention problems with everything unused poisoned, and their answer in float64 from the formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.kv.codecs import get_codec
from runtime.kernels.paged import KVPages, PagedRows

BLOCK_SIZE = 16


@dataclass(frozen=True)
class PagedCase:
    """A step of requests, each with some last rows of its context, and where everything lies.

    Attributes:
        query: float16 [T, num_heads, head_dim]; the first row belongs to no request.
        pages, rows: what a kernel is given; slots without a token hold NaN, spare table entries point far away.
        keys, values: for each request, float64 [context, num_kv_heads, head_dim]: what its stored bytes mean.
    """

    query: Tensor
    pages: KVPages
    rows: PagedRows
    keys: list[Tensor]
    values: list[Tensor]

    def expected(self, scale: float, window: int | None, softcap: float | None) -> Tensor:
        """Float64 [T, num_heads, head_dim]; NaN in rows that belong to no request."""
        out = torch.full(self.query.shape, float("nan"), dtype=torch.float64)
        for start, length, keys, values in zip(
            self.rows.query_starts, self.rows.query_lens, self.keys, self.values, strict=True
        ):
            context, num_kv_heads, _ = keys.shape
            group = self.query.shape[1] // num_kv_heads
            queries = self.query[start : start + length].cpu().double()
            scores = torch.einsum("qhd,khd->hqk", queries, keys.repeat_interleave(group, 1)) * scale
            if softcap is not None:
                scores = softcap * torch.tanh(scores / softcap)
            position = torch.arange(context - length, context).unsqueeze(1)
            key = torch.arange(context)
            hidden = (key > position) | (key <= position - (window or context))
            weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
            out[start : start + length] = torch.einsum("hqk,khd->qhd", weights, values.repeat_interleave(group, 1))
        return out


def paged_case(
    codec: str,
    head_dim: int,
    group: int,
    query_lens: Sequence[int],
    context_lens: Sequence[int],
    *,
    num_kv_heads: int = 2,
    block_size: int = BLOCK_SIZE,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> PagedCase:
    """A fresh random case: blocks of all requests are shuffled among one another. A kernel's part is on the device."""
    generator = torch.Generator().manual_seed(seed)
    k_scale, v_scale = (0.5, 0.25) if codec.startswith("fp8") else (1.0, 1.0)
    counts = [-(-context // block_size) for context in context_lens]
    blocks = torch.randperm(sum(counts) + 3, generator=generator).tolist()
    tables = [[blocks.pop() for _ in range(count)] for count in counts]
    encode, row_elements, dtype = _ENCODERS[codec]
    size = (num_kv_heads, (sum(counts) + 3) * block_size, row_elements(head_dim))
    stored = [torch.full(size, float("nan") if dtype is torch.float16 else 0x7F, dtype=dtype) for _ in range(2)]
    meanings: tuple[list[Tensor], list[Tensor]] = ([], [])
    for table, context in zip(tables, context_lens, strict=True):
        slots = torch.tensor([table[t // block_size] * block_size + t % block_size for t in range(context)])
        for cache, meaning, scale in zip(stored, meanings, (k_scale, v_scale), strict=True):
            x = torch.randn(num_kv_heads, context, head_dim, generator=generator)
            rows, values = encode(x, scale)
            cache[:, slots] = rows
            meaning.append(values.transpose(0, 1))
    starts = [1]
    for length in query_lens:
        starts.append(starts[-1] + length)
    query = torch.randn(starts[-1], num_kv_heads * group, head_dim, generator=generator).half()
    pages = KVPages(stored[0].to(device), stored[1].to(device), get_codec(codec), k_scale, v_scale)
    rows = PagedRows(starts[:-1], list(query_lens), list(context_lens), tables, block_size, torch.device(device))
    return PagedCase(query.to(device), pages, rows, *meanings)


def _fp16(x: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    assert scale == 1.0
    return x.half(), x.half().double()


def _fp8(dtype: torch.dtype) -> Callable[[Tensor, float], tuple[Tensor, Tensor]]:
    def encode(x: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        codes = (x / scale).to(dtype)
        return codes.view(torch.uint8), codes.double() * scale

    return encode


def _int8(channels_per_scale: int | None) -> Callable[[Tensor, float], tuple[Tensor, Tensor]]:
    """Codes, then float16 scales, then padding that nobody may read; None for one scale a row."""

    def encode(x: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        assert scale == 1.0
        *rows, head_dim = x.shape
        groups = x.view(*rows, -1, channels_per_scale or head_dim)
        scales = (groups.abs().amax(-1) / 127).half()
        codes = (groups / scales.float().unsqueeze(-1)).round().clamp(-127, 127)
        stored = torch.full((*rows, _int8_row(head_dim, channels_per_scale)), 0x7F, dtype=torch.uint8)
        stored[..., :head_dim] = codes.to(torch.int8).view(torch.uint8).view(x.shape)
        stored[..., head_dim : head_dim + 2 * scales.shape[-1]] = scales.view(torch.uint8)
        return stored, (codes.double() * scales.double().unsqueeze(-1)).view(x.shape)

    return encode


def _int8_row(head_dim: int, channels_per_scale: int | None) -> int:
    return -(-(head_dim + 2 * (head_dim // (channels_per_scale or head_dim))) // 16) * 16


_ENCODERS = {
    "fp16": (_fp16, lambda head_dim: head_dim, torch.float16),
    "fp8_e4m3": (_fp8(torch.float8_e4m3fn), lambda head_dim: head_dim, torch.uint8),
    "fp8_e5m2": (_fp8(torch.float8_e5m2), lambda head_dim: head_dim, torch.uint8),
    "int8_g64": (_int8(64), lambda head_dim: _int8_row(head_dim, 64), torch.uint8),
    "int8_per_token_head": (_int8(None), lambda head_dim: _int8_row(head_dim, None), torch.uint8),
}
