"""What a caller gets back: a snapshot of a request after each step that changed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime.engine.logprobs import TokenLogprobs
from runtime.engine.request import FinishReason


@dataclass(slots=True)
class RequestMetrics:
    """Times of one request, in seconds of the monotonic clock, and what it cost.

    Attributes:
        arrival: when it was added.
        first_token: when its first token was there; None before that.
        finished: when its last sequence ended; None before that.
        cached_tokens: prompt tokens that came from the prefix cache, of all its sequences.
        preemptions: how often a sequence of it had to give up its blocks.
    """

    arrival: float
    first_token: float | None = None
    finished: float | None = None
    cached_tokens: int = 0
    preemptions: int = 0


@dataclass(slots=True)
class CompletionOutput:
    """One of the `n` sequences of a request.

    Attributes:
        index: which of them, from 0.
        text: all of its text that is certain so far.
        delta: the part of `text` that is new since the snapshot before.
        history: the sequence's tokens, a list that goes on growing: read `token_ids`.
        num_tokens: how many of them there were at this snapshot.
        logprobs: one entry a token, where they were asked for.
        finish_reason: why it ended; None while it goes on.
        stop_reason: the stop string or stop token that ended it, if one did.
        error: with finish_reason "error", what went wrong.
    """

    index: int
    text: str
    delta: str
    history: list[int] = field(repr=False)
    num_tokens: int
    logprobs: Sequence[TokenLogprobs] | None = None
    finish_reason: FinishReason | None = None
    stop_reason: str | int | None = None
    error: str | None = None

    @property
    def token_ids(self) -> list[int]:
        """The tokens up to this snapshot. Copied when read, so that a long output costs each step nothing."""
        return self.history[: self.num_tokens]


@dataclass(slots=True)
class RequestOutput:
    """A snapshot of a request.

    Attributes:
        request_id: the caller's name for it.
        prompt: its text; None where the caller gave token ids.
        prompt_token_ids: the prompt as the model sees it.
        outputs: its `n` sequences, in order.
        prompt_logprobs: one entry a prompt token once all are known, None for the first, which nothing predicts.
        finished: whether all sequences have ended: this is then the last snapshot.
        metrics: shared by all snapshots of the request.
    """

    request_id: str
    prompt: str | None
    prompt_token_ids: Sequence[int]
    outputs: list[CompletionOutput]
    finished: bool
    metrics: RequestMetrics
    prompt_logprobs: Sequence[TokenLogprobs | None] | None = None
