"""Decode steps as device graphs: captured once for a few batch sizes, replayed with new numbers in the same memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from runtime.attention.attention import Attention, Step
from runtime.attention.batch import AttentionBatch
from runtime.engine.model import Model
from runtime.kernels.paged import RowMetadata

_SMALL = (1, 2, 4)
_STRIDE = 8  # from here on: at most seven rows of padding


class Graph(Protocol):
    """A captured computation."""

    @property
    def output(self) -> Tensor:
        """What was computed; every replay writes it anew."""

    def replay(self) -> None:
        """Compute again from what the captured memory holds now."""


class GraphBackend(Protocol):
    """What captures graphs."""

    def capture(self, run: Callable[[], Tensor]) -> Graph:
        """Record what `run` does on the device. All graphs of a backend share the memory of what they compute."""


def batch_buckets(stated: Sequence[int], max_num_seqs: int) -> tuple[int, ...]:
    """Batch sizes to capture, ascending: those stated, but none beyond what can run, or else 1, 2, 4, 8, 16, 24, ..."""
    if stated:
        return tuple(dict.fromkeys(min(size, max_num_seqs) for size in stated))
    small = tuple(size for size in _SMALL if size < max_num_seqs)
    return (*small, *range(_STRIDE, max_num_seqs, _STRIDE), max_num_seqs)


class _Buffers:
    """The numbers of a decode step, in memory that stays where it is.

    Rows that a step leaves over write to a block that no request is given, and see one token of it.
    """

    def __init__(self, rows: int, blocks: int, attention: Attention, device: torch.device) -> None:
        self._block_size, self._spare = attention.cache.block_size, attention.cache.spare_block
        self._unused_slots = self._spare * self._block_size + torch.arange(rows, device=device) % self._block_size
        self.tokens, self._positions = (torch.zeros(rows, dtype=torch.int64, device=device) for _ in range(2))
        self._slots = self._unused_slots.clone()
        self._metadata = RowMetadata(
            query_starts=torch.arange(rows, dtype=torch.int32, device=device),
            query_lens=torch.ones(rows, dtype=torch.int32, device=device),
            context_lens=torch.ones(rows, dtype=torch.int32, device=device),
            block_tables=torch.full((rows, blocks), self._spare, dtype=torch.int32, device=device),
        )

    def batch(self, rows: int) -> AttentionBatch:
        """A step of `rows` requests here.

        Its lists say the most that any such step holds: grids and workspaces are sized by them. What a step really
        holds is on the device.
        """
        blocks = self._metadata.block_tables.shape[1]
        return AttentionBatch(
            query_starts=list(range(rows + 1)),
            query_lens=[1] * rows,
            context_lens=[blocks * self._block_size] * rows,
            tables=[[self._spare] * blocks] * rows,
            block_size=self._block_size,
            slots=self._slots[:rows],
            positions=self._positions[:rows],
            metadata=self._metadata.first(rows),
        )

    def fill(self, batch: AttentionBatch, tokens: Tensor, rows: int) -> None:
        """Put a decode step into the first `rows` rows, which are at least as many as it has."""
        used, numbers, own = len(tokens), batch.stages["decode"].metadata, self._metadata
        width = numbers.block_tables.shape[1]
        for target, source, unused in (
            (self.tokens, tokens, 0),
            (self._positions, batch.positions, 0),
            (own.context_lens, numbers.context_lens, 1),
            (own.block_tables[:, :width], numbers.block_tables, self._spare),
        ):
            target[:used].copy_(source)
            target[used:rows].fill_(unused)
        self._slots[:used].copy_(batch.slots)
        self._slots[used:rows].copy_(self._unused_slots[used:rows])


@dataclass(frozen=True, slots=True)
class _Captured:
    graph: Graph
    step: Step


class DecodeGraphs:
    """Captured decode steps of one model over one cache.

    Attributes:
        counters: replays by bucket, as "replayed 8", and steps that ran without a graph by their reason.
    """

    @torch.inference_mode()
    def __init__(
        self,
        model: Model,
        attention: Attention,
        backend: GraphBackend,
        buckets: Sequence[int],
        max_model_len: int,
    ) -> None:
        """Capture every bucket, the largest first: the smaller ones then fit into its memory.

        Args:
            model, attention: what is captured; the cache has a spare block.
            backend: captures.
            buckets: batch sizes, ascending, at least one.
            max_model_len: longest context, in tokens.
        """
        self.counters: Counter[str] = Counter()
        self._attention = attention
        self._buckets = tuple(buckets)
        blocks = -(-max_model_len // attention.cache.block_size)
        self._buffers = _Buffers(self._buckets[-1], blocks, attention, model.device)
        self._obstacle = self._route_obstacle()
        self._captured = {
            rows: self._capture(model, backend, rows) for rows in reversed(self._buckets) if self._obstacle is None
        }

    @torch.inference_mode()
    def forward(self, batch: AttentionBatch, tokens: Tensor) -> Tensor | None:
        """Hidden states [T, d] of a step, valid until the next one; None where no graph fits it."""
        refusal = self._refusal(batch)
        if refusal is not None:
            self.counters[refusal] += 1
            return None
        rows = self._buckets[bisect_left(self._buckets, batch.num_requests)]
        captured = self._captured[rows]
        self._buffers.fill(batch, tokens, rows)
        self._attention.resume(captured.step)
        captured.graph.replay()
        self.counters[f"replayed {rows}"] += 1
        return captured.graph.output[: batch.num_requests]

    def _route_obstacle(self) -> str | None:
        """Why no step can be captured: a route that reads Python's numbers would replay those of the capture."""
        step = self._attention.begin(self._buffers.batch(self._buckets[-1]))
        routes = {choice.spec for choice in step.choices.values()}
        fixed = sorted(route.name for route in routes if not route.capturable)
        return f"route {fixed[0]} cannot be captured" if fixed else None

    def _refusal(self, batch: AttentionBatch) -> str | None:
        if self._obstacle is not None:
            return self._obstacle
        if list(batch.stages) != ["decode"]:
            return "not every request decodes"
        if batch.num_requests > self._buckets[-1]:
            return f"more than {self._buckets[-1]} requests"
        return None

    def _capture(self, model: Model, backend: GraphBackend, rows: int) -> _Captured:
        batch = self._buffers.batch(rows)

        def run() -> Tensor:
            return model.forward(self._buffers.tokens[:rows], batch.positions, self._attention)

        # What is allocated on first use, such as workspaces and compiled kernels, has to be there before capture. The
        # step begins anew for it, so that what lives for one step only is computed by the graph itself.
        step = self._attention.begin(batch)
        run()
        self._attention.resume(step)
        return _Captured(backend.capture(run), step)
