"""Whether a token was the last of its sequence."""

from __future__ import annotations

from runtime.engine.request import Finish
from runtime.engine.sampling_params import SamplingParams


def end_tokens(params: SamplingParams, eos_ids: frozenset[int]) -> frozenset[int]:
    """Return the tokens that end a sequence once it is longer than `params.min_tokens`."""
    return frozenset(params.stop_token_ids) | (frozenset() if params.ignore_eos else eos_ids)


def finish_after(
    params: SamplingParams,
    eos_ids: frozenset[int],
    *,
    token_id: int,
    num_output: int,
    num_context: int,
    max_model_len: int,
    stop_string: str | None = None,
) -> Finish | None:
    """Decide after each sampled token, as vLLM does: end tokens, then stop strings, then lengths.

    Args:
        token_id: the token that was just added.
        num_output: tokens generated so far, with this one.
        num_context: the same and those of the prompt.
        max_model_len: tokens that the model can attend to.
        stop_string: what the text assembler found.

    Returns:
        None if the sequence goes on. An end token of the model is not named in `stopped_on`; a stop token or string is.
    """
    if num_output > params.min_tokens:
        if token_id in eos_ids and not params.ignore_eos:
            return Finish("stop")
        if token_id in params.stop_token_ids:
            return Finish("stop", token_id)
    if stop_string is not None:
        return Finish("stop", stop_string)
    if num_output >= params.max_tokens or num_context >= max_model_len:
        return Finish("length")
    return None
