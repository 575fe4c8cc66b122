"""Attention operators: the signature of every paged attention kernel, and the flat one that torch knows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from runtime.formats.kv.codecs import get_codec
from runtime.kernels.paged import KVPages, PagedRows, RowMetadata, Scratch
from runtime.native.calling import fallback_of, kernel_of, require, torch_operator
from runtime.native.trace import is_traced

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PagedOperator:
    """An attention operator; `runtime.kernels.reference.paged_attention` describes the call.

    A kernel is launched directly. Only where a trace is on does the call go through torch, which takes longer than the
    launch itself.
    """

    name: str

    def __call__(
        self,
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
        if not is_traced():
            kernel_of(self.name)(
                query, pages, rows, scale=scale, window=window, softcap=softcap, scratch=scratch, out=out
            )
            return
        metadata = rows.metadata
        torch_operator(self.name)(
            query,
            pages.keys,
            pages.values,
            metadata.query_starts,
            metadata.query_lens,
            metadata.context_lens,
            metadata.block_tables,
            out,
            block_size=rows.block_size,
            longest_query=max(rows.query_lens),
            codec=pages.codec.spec.name,
            k_scale=pages.k_scale,
            v_scale=pages.v_scale,
            scale=scale,
            window=window,
            softcap=softcap,
        )


flash_prefill = PagedOperator("flash_prefill")
grouped_decode = PagedOperator("grouped_decode")
paged_attention = PagedOperator("paged_attention")


def on_device(operator: str) -> Callable[..., None]:
    """What torch runs for an operator on tensors of a device: nothing is read back from there."""

    def run(query: Tensor, keys: Tensor, values: Tensor, *arguments: Tensor, **options: object) -> None:
        _run(kernel_of(operator), _planned_rows, query, keys, values, *arguments, **options)  # type: ignore[arg-type]

    return run


def on_cpu(operator: str) -> Callable[..., None]:
    """What torch runs for an operator on tensors of a CPU."""

    def run(query: Tensor, keys: Tensor, values: Tensor, *arguments: Tensor, **options: object) -> None:
        _run(fallback_of(operator), _read_rows, query, keys, values, *arguments, **options)  # type: ignore[arg-type]

    return run


def without_data(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    query_starts: Tensor,
    query_lens: Tensor,
    context_lens: Tensor,
    block_tables: Tensor,
    out: Tensor,
    *,
    block_size: int,
    longest_query: int,
    codec: str,
    k_scale: float,
    v_scale: float,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> None:
    """What can be said of a call by shapes and dtypes alone."""
    spec = get_codec(codec, query.dtype).spec
    require(query.dim() == 3, f"query is [T, num_heads, head_dim], not {list(query.shape)}")
    require(out.shape == query.shape and out.dtype == query.dtype, "out is not as query")
    require(keys.shape == values.shape and keys.dim() == 3, "keys and values are not alike")
    require(query.shape[1] % keys.shape[0] == 0, "query heads are no multiple of key heads")
    row = spec.row_elements(query.shape[2])
    require(keys.shape[2] == row, f"a head of {codec} takes {row} elements, not {keys.shape[2]}")
    requests = query_starts.shape[0]
    for numbers in (query_starts, query_lens, context_lens, block_tables):
        require(numbers.dtype == torch.int32, "what is said of requests is int32")
        require(numbers.shape[0] == requests, f"there are {requests} requests")


class _OwnScratch:
    """Memory of one call: whoever calls through torch brings none."""

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        return build()

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        return torch.empty(shape, dtype=torch.float32, device=device)

    def counters(self, count: int, device: torch.device) -> Tensor:
        return torch.zeros(count, dtype=torch.int32, device=device)


def _run(
    kernel: Callable[..., None],
    rows_of: Callable[[RowMetadata, int, int], PagedRows],
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    query_starts: Tensor,
    query_lens: Tensor,
    context_lens: Tensor,
    block_tables: Tensor,
    out: Tensor,
    *,
    block_size: int,
    longest_query: int,
    codec: str,
    k_scale: float,
    v_scale: float,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> None:
    metadata = RowMetadata(query_starts, query_lens, context_lens, block_tables)
    kernel(
        query,
        KVPages(keys, values, get_codec(codec, query.dtype), k_scale, v_scale),
        rows_of(metadata, block_size, longest_query),
        scale=scale,
        window=window,
        softcap=softcap,
        scratch=_OwnScratch(),
        out=out,
    )


def _planned_rows(metadata: RowMetadata, block_size: int, longest_query: int) -> PagedRows:
    """Rows for a kernel that reads the numbers on the device, and plans by how many requests and rows there are."""
    requests = metadata.query_lens.shape[0]
    lengths = [longest_query] * requests
    return PagedRows(lengths, lengths, lengths, [()] * requests, block_size, metadata.query_lens.device, metadata)


def _read_rows(metadata: RowMetadata, block_size: int, _longest_query: int) -> PagedRows:
    return PagedRows(
        metadata.query_starts.tolist(),
        metadata.query_lens.tolist(),
        metadata.context_lens.tolist(),
        metadata.block_tables.tolist(),
        block_size,
        metadata.query_lens.device,
        metadata,
    )
