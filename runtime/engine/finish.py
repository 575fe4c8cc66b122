"""Whether a token was the last of its sequence."""

from __future__ import annotations

from runtime.engine.request import Finish
from runtime.engine.sampling_params import SamplingParams


def end_tokens(params: SamplingParams, eos_ids: frozenset[int]) -> frozenset[int]:
    """Return the tokens that end a sequence once it is longer than `params.min_tokens`."""
    return frozenset(params.stop_token_ids) | (frozenset() if params.ignore_eos else eos_ids)


class Ending:
    """When one sequence ends, as vLLM has it: by end tokens, then stop strings, then lengths.

    Args:
        params: of the request.
        eos_ids: the model's own end tokens.
        most_tokens: that the model has room for after the prompt.
    """

    __slots__ = ("_ends", "_least", "_most", "_own")

    def __init__(self, params: SamplingParams, eos_ids: frozenset[int], most_tokens: int) -> None:
        self._ends = end_tokens(params, eos_ids)
        self._own = frozenset() if params.ignore_eos else eos_ids
        self._least = params.min_tokens
        self._most = min(params.max_tokens, most_tokens)

    def after(self, token_id: int, num_output: int, stop_string: str | None = None) -> Finish | None:
        """Decide after a token was added.

        Args:
            token_id: the token.
            num_output: tokens generated so far, with this one.
            stop_string: what the text assembler found.

        Returns:
            None if the sequence goes on. An end token of the model is not named in `stopped_on`; a stop token or string
            is.
        """
        if token_id in self._ends and num_output > self._least:
            return Finish("stop", None if token_id in self._own else token_id)
        if stop_string is not None:
            return Finish("stop", stop_string)
        return Finish("length") if num_output >= self._most else None
