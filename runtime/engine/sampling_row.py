"""What the sampler knows of one sequence."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.engine.bans import Bans, bad_word_tokens
from runtime.engine.finish import end_tokens
from runtime.engine.penalties import TokenCounts
from runtime.engine.randomness import Uniforms, random_seed
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.tokenizer import Tokenizer
from runtime.errors import RequestError


class SamplingRow:
    """One sequence of a request, made once when it is admitted.

    All that changes from step to step follows from `output_ids`, so nothing needs to be saved when the sequence is
    preempted, or restored when it goes on.

    Args:
        params: of the request.
        prompt_ids: the prompt's tokens.
        output_ids: the tokens generated so far: the list to which the engine appends.
        vocab_size: width of the logits.
        tokenizer: knows the end tokens and the tokens of bad words.
        index: which of the request's `n` sequences this is.

    Raises:
        RequestError: `params` name tokens that the model does not have, or bad words that have no tokens.
    """

    __slots__ = ("bans", "biases", "counts", "edited", "output_ids", "params", "plain", "uniforms")

    def __init__(
        self,
        params: SamplingParams,
        prompt_ids: Sequence[int],
        output_ids: list[int],
        *,
        vocab_size: int,
        tokenizer: Tokenizer | None = None,
        index: int = 0,
    ) -> None:
        unknown = [token for token in params.logit_bias if token >= vocab_size]
        if unknown:
            raise RequestError(f"logit_bias[{unknown[0]}]: the model has tokens 0 to {vocab_size - 1} only")
        ends = end_tokens(params, tokenizer.eos_ids if tokenizer else frozenset())
        self.params = params
        self.output_ids = output_ids
        self.biases = tuple(params.logit_bias.items())
        self.counts = self._count(prompt_ids) if params.penalised else None
        self.bans = Bans(
            bad_word_tokens(params, tokenizer),
            frozenset(token for token in ends if token < vocab_size),
            params.min_tokens,
        )
        self.uniforms = Uniforms(random_seed() if params.seed is None else params.seed, index)
        self.edited = bool(self.biases or self.counts is not None or self.bans)
        self.plain = params.greedy and params.logprobs is None and not self.edited

    def _count(self, prompt_ids: Sequence[int]) -> TokenCounts:
        """Only the repetition penalty concerns tokens that are in the prompt alone."""
        return TokenCounts(prompt_ids if self.params.repetition_penalty != 1.0 else ())
