"""A request as its caller sees it: one prompt, `n` sequences that share it, one identity."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.engine.completion import Completion
from runtime.engine.outputs import RequestMetrics, RequestOutput
from runtime.engine.request import RequestState


class Generation:
    """The sequences of one request.

    They are scheduled one by one. Their common prompt is computed once, for the scheduler lets the others wait until
    the first one's blocks are in the prefix cache.
    """

    def __init__(
        self, request_id: str, prompt: str | None, prompt_ids: Sequence[int], completions: list[Completion], now: float
    ) -> None:
        self.request_id = request_id
        self.completions = completions
        self._prompt = prompt
        self._prompt_ids = prompt_ids
        self._metrics = RequestMetrics(arrival=now)

    @property
    def finished(self) -> bool:
        # Not `all(...)`: a generator expression would cost more than the rest of a snapshot.
        for completion in self.completions:  # noqa: SIM110
            if completion.state is not RequestState.FINISHED:
                return False
        return True

    def snapshot(self, now: float) -> RequestOutput:
        """What there is to show at `now`."""
        finished = self.finished
        metrics = self._metrics
        if metrics.first_token is None and any(completion.output_ids for completion in self.completions):
            metrics.first_token = now
            metrics.cached_tokens = sum(completion.num_cached for completion in self.completions)
        if finished:
            metrics.finished = now
            metrics.cached_tokens = sum(completion.num_cached for completion in self.completions)
            metrics.preemptions = sum(completion.num_preemptions for completion in self.completions)
        prompt_logprobs = self.completions[0].prompt_logprobs
        if prompt_logprobs is not None and len(prompt_logprobs) < len(self._prompt_ids):
            prompt_logprobs = None
        return RequestOutput(
            request_id=self.request_id,
            prompt=self._prompt,
            prompt_token_ids=self._prompt_ids,
            outputs=[completion.snapshot() for completion in self.completions],
            finished=finished,
            metrics=metrics,
            prompt_logprobs=prompt_logprobs,
        )
