"""What one step looks like to attention: which rows belong to which request, and where their tokens lie."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from runtime.attention.declarations import VERIFY_ROWS, Stage
from runtime.kernels.paged import PagedRows, RowMetadata, slot_runs


@dataclass(frozen=True)
class AttentionBatch:
    """One step of any mix of requests, the same for all layers. A request is in the stage of its rows.

    Attributes:
        query_starts: [R + 1] first row of every request among the step's T rows, and T.
        query_lens: [R] rows of every request, at least one.
        context_lens: [R] tokens of every request in the cache after this step's write.
        tables: [R] blocks of every request, in the order of its tokens; at least as many as its context needs.
        block_size: tokens in a block.
        slots: int64 [T] where the key and value of every row are written: block * block_size + offset.
        positions: int64 [T] of every row in its request, from 0.
        metadata: the numbers of all requests on the device, where they have a fixed place there; all must decode.
    """

    query_starts: list[int]
    query_lens: list[int]
    context_lens: list[int]
    tables: Sequence[Sequence[int]]
    block_size: int
    slots: Tensor
    positions: Tensor
    metadata: RowMetadata | None = None

    @classmethod
    def build(
        cls,
        block_tables: Sequence[Sequence[int]],
        starts: Sequence[int],
        lengths: Sequence[int],
        block_size: int,
        device: str | torch.device = "cpu",
    ) -> AttentionBatch:
        """Lay out a step.

        Args:
            block_tables: [R] blocks of every request, with room for this step's tokens; kept, not copied.
            starts: [R] tokens of every request that are in the cache already.
            lengths: [R] rows of every request in this step, at least one.
            block_size: tokens in a block.
            device: where the model runs.

        Raises:
            ValueError: a request has no row, or a block table is too short; the engine must never ask that.
        """
        slots: list[int] = []
        positions: list[int] = []
        for request, (table, start, length) in enumerate(zip(block_tables, starts, lengths, strict=True)):
            end = start + length
            if length < 1 or len(table) * block_size < end:
                raise ValueError(f"request {request}: {length} rows after {start} tokens, in {len(table)} blocks")
            if length == 1:
                slots.append(table[start // block_size] * block_size + start % block_size)
                positions.append(start)
            else:
                for slot, tokens in slot_runs(table, start, end, block_size):
                    slots.extend(range(slot, slot + tokens))
                positions.extend(range(start, end))
        return cls(
            query_starts=[0, *accumulate(lengths)],
            query_lens=list(lengths),
            context_lens=[start + length for start, length in zip(starts, lengths, strict=True)],
            tables=block_tables,
            block_size=block_size,
            slots=int64_tensor(slots, device),
            positions=int64_tensor(positions, device),
        )

    @property
    def num_requests(self) -> int:
        """Requests in this step."""
        return len(self.query_lens)

    @functools.cached_property
    def stages(self) -> dict[Stage, PagedRows]:
        """The rows of every stage that this step has."""
        stages: dict[Stage, list[int]] = {"decode": [], "verify": [], "prefill": []}
        for request, (length, context) in enumerate(zip(self.query_lens, self.context_lens, strict=True)):
            stages[_stage(length, context)].append(request)
        if stages["decode"] and stages["verify"]:
            stages["mixed_decode"] = sorted(stages.pop("decode") + stages.pop("verify"))
        return {stage: self._rows(requests) for stage, requests in stages.items() if requests}

    def _rows(self, requests: list[int]) -> PagedRows:
        return PagedRows(
            query_starts=[self.query_starts[request] for request in requests],
            query_lens=[self.query_lens[request] for request in requests],
            context_lens=[self.context_lens[request] for request in requests],
            block_tables=[self.tables[request] for request in requests],
            block_size=self.block_size,
            device=self.slots.device,
            known_metadata=self.metadata,
        )


def _stage(length: int, context: int) -> Stage:
    """What a request is on its own: few rows after a context have little to share but its keys, as one row has."""
    if length == 1:
        return "decode"
    return "verify" if length <= VERIFY_ROWS and length < context else "prefill"


def int64_tensor(values: Sequence[int], device: str | torch.device) -> Tensor:
    """[n] of Python numbers. NumPy reads a list in half the time that torch takes."""
    return torch.from_numpy(np.array(values, dtype=np.int64)).to(device)
