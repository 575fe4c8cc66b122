"""What every paged attention kernel is given: one layer's pages, the rows to attend for, and scratch memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from runtime.formats.kv.codecs import KVCodec

T = TypeVar("T")


class Scratch(Protocol):
    """Memory that kernels share within a step and nobody reads after it."""

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """What `build` gave for `key` in this step; it runs at the first call only. Read-only for callers."""

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Uninitialised float32 memory, contiguous; valid until the next call.

        Raises:
            RuntimeError: there is not enough of it while a device graph is captured.
        """

    def counters(self, count: int, device: torch.device) -> Tensor:
        """Zeros, int32 [count], for blocks of one launch to count one another: the last one sets them back to zero.

        Raises:
            RuntimeError: there are not enough of them while a device graph is captured.
        """


@dataclass(frozen=True, slots=True)
class KVPages:
    """The keys and values of one layer, in pages.

    Attributes:
        keys, values: [num_kv_heads, num_slots, row] of the codec's storage dtype, a row as its spec lays out a head.
            Token t of a request lies in slot table[t // block_size] * block_size + t % block_size. A head's part of
            adjacent pages is contiguous, which a kernel that works on one head at a time reads a quarter faster than
            tokens with all their heads.
        codec: reads them.
        k_scale, v_scale: what the codec multiplies keys and values by.
    """

    keys: Tensor
    values: Tensor
    codec: KVCodec
    k_scale: float
    v_scale: float


@dataclass(frozen=True)
class Span:
    """Consecutive tokens of one request, as slots of a cache.

    Attributes:
        tokens: how many.
        runs: (first slot, length) of every maximal run of adjacent slots, in the order of the tokens.
        device: where the cache is.
    """

    tokens: int
    runs: tuple[tuple[int, int], ...]
    device: torch.device

    @functools.cached_property
    def slots(self) -> Tensor:
        """The slot of every token, int64 [tokens]."""
        return torch.cat([torch.arange(slot, slot + length) for slot, length in self.runs]).to(self.device)


@dataclass(frozen=True, slots=True)
class RowMetadata:
    """The numbers of a `PagedRows` where the cache is, for kernels that read them there; all int32 and contiguous.

    Attributes:
        query_starts, query_lens, context_lens: [R].
        block_tables: [R, most blocks of a request]; entries beyond a request's blocks are 0 and mean nothing.
    """

    query_starts: Tensor
    query_lens: Tensor
    context_lens: Tensor
    block_tables: Tensor

    def first(self, requests: int) -> RowMetadata:
        """Those of the first requests, in the same memory."""
        return RowMetadata(
            self.query_starts[:requests],
            self.query_lens[:requests],
            self.context_lens[:requests],
            self.block_tables[:requests],
        )


@dataclass(frozen=True, slots=True, eq=False)
class PagedRows:
    """The rows of a step that one kernel call attends for: ragged queries over paged keys, causal in each request.

    Attributes:
        query_starts: [R] first row of each request in the step's query tensor.
        query_lens: [R] its rows, which are the last tokens of its context.
        context_lens: [R] its tokens in the cache, those of this step included.
        block_tables: [R] its blocks in the order of its tokens.
        block_size: tokens in a block.
        device: where the cache is.
        known_metadata: what `metadata` answers, if the device has the numbers already.
    """

    query_starts: Sequence[int]
    query_lens: Sequence[int]
    context_lens: Sequence[int]
    block_tables: Sequence[Sequence[int]]
    block_size: int
    device: torch.device
    known_metadata: RowMetadata | None = None
    _spans: dict[int | None, list[Span]] = field(default_factory=dict, repr=False)
    _metadata: list[RowMetadata] = field(default_factory=list, repr=False)

    @property
    def metadata(self) -> RowMetadata:
        """The same numbers on the device; the answer is kept, since every layer of a step asks for it."""
        if self.known_metadata is not None:
            return self.known_metadata
        if not self._metadata:
            width = max(map(len, self.block_tables))
            tables = [[*table, *[0] * (width - len(table))] for table in self.block_tables]
            numbers = (self.query_starts, self.query_lens, self.context_lens, tables)
            self._metadata.append(
                RowMetadata(*(torch.tensor(each, dtype=torch.int32, device=self.device) for each in numbers))
            )
        return self._metadata[0]

    @property
    def block_shift(self) -> int:
        """Bits of a token's place in its block, for kernels that find tokens by shifts.

        Raises:
            ValueError: the block size is not a power of two, as a configuration's always is.
        """
        if self.block_size.bit_count() != 1:
            raise ValueError(f"kernels find tokens by shifts: a block of {self.block_size} is not a power of two")
        return self.block_size.bit_length() - 1

    def spans(self, window: int | None) -> list[Span]:
        """[R] the tokens that any row of each request can see, the last of its context included.

        With a window, a row sees itself and the `window - 1` tokens before it. The answer is kept, since every layer
        of a step asks the same question.
        """
        known = self._spans.get(window)
        if known is None:
            known = [self._span(request, window) for request in range(len(self.query_lens))]
            self._spans[window] = known
        return known

    def _span(self, request: int, window: int | None) -> Span:
        end = self.context_lens[request]
        first_row = end - self.query_lens[request]
        start = 0 if window is None else max(0, first_row - window + 1)
        runs = slot_runs(self.block_tables[request], start, end, self.block_size)
        return Span(end - start, runs, self.device)


def likeness(
    query: Tensor, pages: KVPages, rows: PagedRows, scale: float, window: int | None, softcap: float | None
) -> Hashable:
    """The same for all calls of a kernel in a step that differ in nothing but their tensors, as those of layers do."""
    return rows, query.shape, query.stride(0), pages.keys.shape, scale, window, softcap


def slot_runs(table: Sequence[int], start: int, end: int, block_size: int) -> tuple[tuple[int, int], ...]:
    """Maximal runs (first slot, length) of adjacent slots that hold tokens `start` to `end` (excluded)."""
    first, last = start // block_size, (end - 1) // block_size
    blocks = list(table[first : last + 1])
    offset = start - first * block_size
    if blocks == list(range(blocks[0], blocks[0] + len(blocks))):
        return ((blocks[0] * block_size + offset, end - start),)
    cuts = [at for at in range(1, len(blocks)) if blocks[at] != blocks[at - 1] + 1]
    runs: list[tuple[int, int]] = []
    token = start
    for begin, stop in zip([0, *cuts], [*cuts, len(blocks)], strict=True):
        stop_token = min(end, (first + stop) * block_size)
        runs.append((blocks[begin] * block_size + (offset if begin == 0 else 0), stop_token - token))
        token = stop_token
    return tuple(runs)
