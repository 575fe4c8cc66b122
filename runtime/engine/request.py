"""A request as the scheduler sees it: one stream of tokens, from its prompt to its last sampled token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from runtime.engine.block_pool import chain_hash, chain_root

FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True)
class Finish:
    """Why a stream ended: what stopped it (a stop string, a token id), or what went wrong."""

    reason: FinishReason
    stopped_on: str | int | None = None
    message: str = ""


class RequestState(Enum):
    """Where a request stands. A preempted one is waiting again, with the tokens that it already has."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class Request(ABC):
    """The tokens, the KV blocks and the progress of one stream.

    Attributes:
        prompt_ids: the prompt, at least one token.
        output_ids: what was sampled so far. It only grows.
        num_tokens: length of both together.
        num_computed: how many leading tokens have their keys and values in `blocks`.
        num_cached: how many of those were in the prefix cache when the request first ran.
        num_named: how many leading blocks are known to the prefix cache.
        blocks: block numbers in token order.
        rank: order of service, smallest first; given by the scheduler.
        reads_cache: False where every prompt token must be computed, because its logits are wanted.
    """

    def __init__(
        self, prompt_ids: Sequence[int], *, priority: int = 0, salt: str = "", reads_cache: bool = True
    ) -> None:
        self.prompt_ids = prompt_ids
        self.priority = priority
        self.reads_cache = reads_cache
        self.output_ids: list[int] = []
        self.num_tokens = len(prompt_ids)
        self.state = RequestState.WAITING
        self.finish: Finish | None = None
        self.rank = (0, 0)
        self.blocks: list[int] = []
        self.num_computed = 0
        self.num_cached = 0
        self.num_named = 0
        self.num_preemptions = 0
        self._chain = [chain_root(salt)]

    @abstractmethod
    def judge(self, token_id: int) -> Finish | None:
        """Say whether the stream ends with this token, which was just added."""

    def append(self, token_id: int) -> None:
        """Add a sampled token, and see whether it was the last."""
        self.output_ids.append(token_id)
        self.num_tokens += 1
        self.finish = self.judge(token_id)

    def tokens_between(self, start: int, stop: int) -> Sequence[int]:
        """Token ids of positions `start` to `stop`, prompt and output as one sequence."""
        boundary = len(self.prompt_ids)
        if stop <= boundary:
            return self.prompt_ids[start:stop]
        if start >= boundary:
            return self.output_ids[start - boundary : stop - boundary]
        return [*self.prompt_ids[start:], *self.output_ids[: stop - boundary]]

    def block_name(self, index: int, block_size: int) -> bytes:
        """Chain hash of block `index`, which must be full."""
        for full in range(len(self._chain) - 1, index + 1):
            tokens = self.tokens_between(full * block_size, (full + 1) * block_size)
            self._chain.append(chain_hash(self._chain[-1], tokens))
        return self._chain[index + 1]
