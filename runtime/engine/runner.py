"""Computes one step: from a plan to tensors, through the model, to sampled tokens."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch, int64_tensor
from runtime.engine.completion import Completion
from runtime.engine.graphs import DecodeGraphs
from runtime.engine.logprobs import TokenLogprobs, token_logprobs
from runtime.engine.model import Model, Probe
from runtime.engine.numerics import FirstNonFinite, bad_tokens
from runtime.engine.sampler import Sampler
from runtime.engine.scheduler import Plan, StepResult
from runtime.kernels.operators import REFERENCE, Operators
from runtime.kernels.reference.sampling import NO_TOKEN

_PROMPT_ROWS = 64  # logits of so many prompt tokens exist at a time: a row is as wide as the vocabulary
_ALL_BANNED = "every token is banned: loosen logit_bias, bad_words or min_tokens"


@dataclass(slots=True)
class RunnerResult(StepResult):
    """What a step computed, with the log probabilities that were asked for, by row."""

    logprobs: dict[int, TokenLogprobs] = field(default_factory=dict)
    prompt_logprobs: dict[int, list[TokenLogprobs]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Step:
    """A plan as tensors."""

    plan: Plan[Completion]
    batch: AttentionBatch
    tokens: Tensor

    def span(self, row: int) -> tuple[int, int]:
        """Where the tokens of a row are."""
        return self.batch.query_starts[row], self.batch.query_starts[row + 1]

    def row_of(self, token: int) -> int:
        """The row that a token of the step belongs to."""
        return bisect_right(self.batch.query_starts, token) - 1

    def last_rows(self) -> list[int]:
        """Rows that end with their request's last token, so that the next one can be sampled."""
        pairs = zip(self.plan.requests, self.batch.context_lens, strict=True)
        return [row for row, (request, length) in enumerate(pairs) if length == request.num_tokens]


class Runner:
    """The model, its attention and the sampler, as one function of a plan.

    Args:
        model: the model.
        attention: bound to the model's layers and to the cache whose blocks the plans name.
        graphs: captured decode steps of both; None to run every step as it comes.
        operators: draw tokens.
    """

    def __init__(
        self,
        model: Model,
        attention: Attention,
        graphs: DecodeGraphs | None = None,
        operators: Operators = REFERENCE,
    ) -> None:
        self._model = model
        self._attention = attention
        self._graphs = graphs
        self._sampler = Sampler(operators)

    @torch.inference_mode()
    def run(self, plan: Plan[Completion]) -> RunnerResult:
        """Compute a plan that is not empty. A row with a value that is not finite fails, and it alone."""
        step = self._prepare(plan)
        hidden = None if self._graphs is None else self._graphs.forward(step.batch, step.tokens)
        if hidden is None:
            hidden = self._forward(step)
        result = RunnerResult([None] * len(plan.requests))
        failed = {step.row_of(token) for token in bad_tokens(hidden)}
        rows = [row for row in step.last_rows() if row not in failed]
        if rows:
            failed |= self._sample(step, hidden, rows, result)
        for row, request in enumerate(plan.requests):
            if request.prompt_logprobs is not None and row not in failed:
                result.prompt_logprobs[row] = self._prompt_logprobs(step, hidden, row)
        if failed:
            result.errors.update(self._diagnose(step, failed))
        return result

    def _prepare(self, plan: Plan[Completion]) -> _Step:
        starts = [request.num_computed for request in plan.requests]
        tokens: list[int] = []
        for request, start, length in zip(plan.requests, starts, plan.lengths, strict=True):
            tokens += request.tokens_between(start, start + length)
        tables = [request.blocks for request in plan.requests]
        device = self._model.device
        batch = AttentionBatch.build(tables, starts, plan.lengths, self._attention.cache.block_size, device)
        return _Step(plan, batch, int64_tensor(tokens, device))

    def _forward(self, step: _Step, probe: Probe | None = None) -> Tensor:
        self._attention.begin(step.batch)
        return self._model.forward(step.tokens, step.batch.positions, self._attention, probe)

    def _sample(self, step: _Step, hidden: Tensor, rows: list[int], result: RunnerResult) -> set[int]:
        """Sample a token for each of `rows`; return those whose logits are not finite."""
        if len(rows) < len(hidden):
            hidden = hidden[[step.batch.query_starts[row + 1] - 1 for row in rows]]
        logits = self._model.logits(hidden)
        sampled = self._sampler.sample(logits, [step.plan.requests[row].sampling for row in rows])
        failed = set()
        for place, (row, token) in enumerate(zip(rows, sampled.tokens, strict=True)):
            if token != NO_TOKEN:
                result.tokens[row] = token
            elif torch.isfinite(logits[place]).all():
                result.errors[row] = _ALL_BANNED
            else:
                failed.add(row)
        result.logprobs = {row: entry for row, entry in zip(rows, sampled.logprobs, strict=True) if entry is not None}
        return failed

    def _prompt_logprobs(self, step: _Step, hidden: Tensor, row: int) -> list[TokenLogprobs]:
        """Log probabilities of the prompt tokens that follow the row's tokens, as far as they are not known yet."""
        request = step.plan.requests[row]
        begin, end = step.span(row)
        shift = step.batch.context_lens[row] - end  # from a token's place in the step to its position
        known = len(request.prompt_logprobs or ())
        first = max(begin, known - 1 - shift)
        stop = min(end, len(request.prompt_ids) - 1 - shift)
        found: list[TokenLogprobs] = []
        for start in range(first, stop, _PROMPT_ROWS):
            chunk = slice(start, min(stop, start + _PROMPT_ROWS))
            targets = request.prompt_ids[chunk.start + shift + 1 : chunk.stop + shift + 1]
            num_top = [request.params.prompt_logprobs or 0] * len(targets)
            found += token_logprobs(self._model.logits(hidden[chunk]), targets, num_top)
        return found

    def _diagnose(self, step: _Step, failed: set[int]) -> dict[int, str]:
        """Compute the step once more, which writes the same keys and values again, to see where it goes wrong."""
        probe = FirstNonFinite({row: step.span(row) for row in failed}, self._model.dtype)
        self._forward(step, probe)
        return {row: str(probe.error(row)) for row in failed}
