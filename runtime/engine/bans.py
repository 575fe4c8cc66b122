"""Tokens that a sequence may not take next."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.engine.sampling_params import SamplingParams
from runtime.engine.tokenizer import Tokenizer
from runtime.errors import RequestError


def bad_word_tokens(params: SamplingParams, tokenizer: Tokenizer | None) -> tuple[tuple[int, ...], ...]:
    """Return the token sequences that would write one of `params.bad_words`.

    As in vLLM each is banned both at the start of a text and after a space, which most vocabularies write differently.

    Raises:
        RequestError: there is no tokenizer, or a bad word that has no tokens.
    """
    if not params.bad_words:
        return ()
    if tokenizer is None:
        raise RequestError("bad_words are texts, and this engine runs without a tokenizer: ban tokens by logit_bias")
    sequences: dict[tuple[int, ...], None] = {}
    for word in params.bad_words:
        for text in (word.lstrip(), " " + word.lstrip()):
            sequences[tuple(tokenizer.encode(text, add_special=False))] = None
    if () in sequences:
        raise RequestError(f"bad_words = {list(params.bad_words)!r}: each must have a token of its own, not only space")
    return tuple(sequences)


class Bans:
    """The bans of one sequence.

    Args:
        sequences: token sequences that must not be completed.
        end_tokens: tokens that must not be taken before `min_tokens` others were.
    """

    def __init__(self, sequences: Sequence[Sequence[int]], end_tokens: frozenset[int], min_tokens: int) -> None:
        self._always = [sequence[0] for sequence in sequences if len(sequence) == 1]
        self._after = [(list(sequence[:-1]), sequence[-1]) for sequence in sequences if len(sequence) > 1]
        self._end_tokens = list(end_tokens)
        self._min_tokens = min_tokens

    def __bool__(self) -> bool:
        return bool(self._always or self._after or self._min_tokens)

    def after(self, output_ids: Sequence[int]) -> list[int]:
        """Return the tokens that may not follow this output."""
        banned = list(self._always)
        if len(output_ids) < self._min_tokens:
            banned += self._end_tokens
        for prefix, last in self._after:
            if list(output_ids[-len(prefix) :]) == prefix:
                banned.append(last)
        return banned
