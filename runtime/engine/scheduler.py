"""Which request computes how many tokens in the next step.

`schedule` decides and reserves blocks; the caller computes what the plan says; `postprocess` applies what came out.
There is no model here, and no clock, so the same calls always give the same plans.

Why nothing can wait for ever: requests are served in the order of their rank; only the last running request is ever
preempted, so the first one can take every block that the others hold; and admission (see `admission.py`) lets in only
requests that fit into the whole pool.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Generic, TypeVar

from runtime.config import SchedulerConfig
from runtime.engine.block_pool import BlockPool
from runtime.engine.request import Finish, Request, RequestState

RequestT = TypeVar("RequestT", bound=Request)
_RANK = attrgetter("rank")


@dataclass(slots=True)
class Plan(Generic[RequestT]):
    """One step: row `i` computes the next `lengths[i]` tokens of `requests[i]`. Those that lack one come first."""

    requests: list[RequestT] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    preempted: list[RequestT] = field(default_factory=list)


@dataclass(slots=True)
class StepResult:
    """What a step computed, row by row of its plan.

    Attributes:
        tokens: the sampled token, or None where the row's last token was not the request's last.
        errors: by row, why its request cannot go on. Its token is ignored.
    """

    tokens: list[int | None]
    errors: dict[int, str] = field(default_factory=dict)


class Scheduler(Generic[RequestT]):
    """Continuous batching with chunked prefill, a prefix cache, and preemption by recomputing.

    Args:
        config: `max_num_seqs` requests run at a time and compute `max_num_batched_tokens` tokens a step; `policy`
            "fcfs" serves by arrival, "priority" by priority (smaller first), then arrival.
        pool: the blocks. Its `prefix_caching` decides whether prefixes are shared.
        block_size: tokens a block.
        prefill_chunk: most tokens of one request in one step, where prompts may be split; 0 for no such limit.
    """

    def __init__(self, config: SchedulerConfig, pool: BlockPool, block_size: int, prefill_chunk: int = 0) -> None:
        self.pool = pool
        self.block_size = block_size
        self.waiting: list[RequestT] = []  # both lists are sorted by rank
        self.running: list[RequestT] = []
        self.num_preemptions = 0
        self.num_prompt_tokens = 0  # of requests that were started, and how many of those were cached
        self.num_cached_tokens = 0
        self._config = config
        self._chunk = prefill_chunk if config.chunked_prefill and prefill_chunk else config.max_num_batched_tokens
        self._arrivals = 0

    @property
    def has_unfinished(self) -> bool:
        return bool(self.waiting or self.running)

    def add(self, request: RequestT) -> None:
        """Queue a request that admission has let in."""
        by_priority = self._config.policy == "priority"
        request.rank = (request.priority if by_priority else 0, self._arrivals)
        self._arrivals += 1
        insort(self.waiting, request, key=_RANK)

    def abort(self, request: RequestT) -> None:
        """Forget a request wherever it stands, also between `schedule` and `postprocess`; a finished one stays so."""
        if request.state is not RequestState.FINISHED:
            self._finish(request, Finish("abort"))

    def schedule(self) -> Plan[RequestT]:
        """Choose the rows of the next step and reserve the blocks that they write to. Empty when nothing is left."""
        plan = Plan[RequestT]()
        budget = self._plan_running(plan, self._config.max_num_batched_tokens)
        if not plan.preempted:
            self._admit(plan, budget)
        return plan

    def _plan_running(self, plan: Plan[RequestT], budget: int) -> int:
        """Plan those that run already; return what is left of the budget.

        Requests that lack one token go first, so that a long prompt never holds up those that are answering. Prompts
        that were admitted in part go on after them; their blocks are reserved already. The budget has a token for every
        running request, since each was admitted with what the others had left.
        """
        unfinished_prompts = []
        position = 0
        while position < len(self.running):  # preemption shortens the list from its end
            request = self.running[position]
            position += 1
            if request.num_tokens - request.num_computed > 1:
                unfinished_prompts.append(request)
            elif self._secure(request, plan):
                plan.requests.append(request)
                plan.lengths.append(1)
                budget -= 1
        for request in unfinished_prompts:
            if budget:
                length = min(request.num_tokens - request.num_computed, budget, self._chunk)
                plan.requests.append(request)
                plan.lengths.append(length)
                budget -= length
        return budget

    def _secure(self, request: RequestT, plan: Plan[RequestT]) -> bool:
        """Give the request a block for its next token, if need be by preempting from the end of the order."""
        if request.num_tokens <= len(request.blocks) * self.block_size:
            return True
        while not self.pool.num_available:
            victim = self.running.pop()
            self._release(victim)
            victim.state = RequestState.WAITING
            victim.num_preemptions += 1
            self.num_preemptions += 1
            plan.preempted.append(victim)
            insort(self.waiting, victim, key=_RANK)
            if victim is request:
                return False
        request.blocks += self.pool.allocate(1)
        return True

    def _admit(self, plan: Plan[RequestT], budget: int) -> None:
        """Start waiting requests in order, each with blocks for all the tokens that it has."""
        while self.waiting and budget > 0 and len(self.running) < self._config.max_num_seqs:
            request = self.waiting[0]
            matched = self._match(request)
            if matched is None:
                break
            cached = len(matched) * self.block_size
            length = min(request.num_tokens - cached, budget, self._chunk)
            if cached + length < request.num_tokens and not self._config.chunked_prefill:
                break
            fresh = -(-request.num_tokens // self.block_size) - len(matched)
            # Each running request may need a block soon; taking the last one would only get this request preempted.
            if not self.pool.fits(matched, fresh, spare=len(self.running)):
                break
            self.pool.hold(matched)
            request.blocks = matched + self.pool.allocate(fresh)
            request.num_computed = cached
            if not request.num_preemptions:
                request.num_cached = cached
                self.num_prompt_tokens += request.num_tokens
                self.num_cached_tokens += cached
            request.num_named = len(matched)
            request.state = RequestState.RUNNING
            del self.waiting[0]
            insort(self.running, request, key=_RANK)
            plan.requests.append(request)
            plan.lengths.append(length)
            budget -= length

    def _match(self, request: RequestT) -> list[int] | None:
        """Cached blocks that the request can start from, or None if it had better wait for one.

        It had better wait while a running request is computing just the block that it lacks: the branches of one
        prompt, and clients that share a system prompt, then compute it once. The last token is never taken from the
        cache, for its logits are needed.
        """
        if not self.pool.prefix_caching or not request.reads_cache:
            return []
        usable = (request.num_tokens - 1) // self.block_size
        matched = self.pool.match(request.block_name(index, self.block_size) for index in range(usable))
        lacking = len(matched)
        if lacking < usable and self._is_being_computed(request.block_name(lacking, self.block_size), lacking):
            return None
        return matched

    def _is_being_computed(self, name: bytes, index: int) -> bool:
        end = (index + 1) * self.block_size
        return any(
            other.num_computed < end <= other.num_tokens and other.block_name(index, self.block_size) == name
            for other in self.running
        )

    def postprocess(self, plan: Plan[RequestT], result: StepResult) -> list[RequestT]:
        """Apply a step: give each request its token, free what has finished.

        Returns:
            The requests that got a token or failed, in the order of the plan.
        """
        updated = []
        for row, (request, length, token) in enumerate(zip(plan.requests, plan.lengths, result.tokens, strict=True)):
            if request.state is not RequestState.RUNNING:  # aborted while the step ran
                continue
            if row in result.errors:
                self.pool.forget(request.blocks)
                self._finish(request, Finish("error", message=result.errors[row]))
                updated.append(request)
                continue
            request.num_computed += length
            if request.num_computed // self.block_size > request.num_named and self.pool.prefix_caching:
                self._name_blocks(request)
            if token is not None:
                request.append(token)
                updated.append(request)
                if request.finish is not None:
                    self._finish(request, request.finish)
        return updated

    def _name_blocks(self, request: RequestT) -> None:
        full = request.num_computed // self.block_size
        for index in range(request.num_named, full):
            self.pool.name(request.blocks[index], request.block_name(index, self.block_size))
        request.num_named = full

    def _finish(self, request: RequestT, finish: Finish) -> None:
        queue = self.running if request.state is RequestState.RUNNING else self.waiting
        del queue[bisect_left(queue, request.rank, key=_RANK)]
        self._release(request)
        request.state = RequestState.FINISHED
        request.finish = finish

    def _release(self, request: RequestT) -> None:
        self.pool.release(request.blocks)
        request.blocks = []
        request.num_computed = 0
