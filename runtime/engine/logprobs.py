"""Log probabilities of tokens, as the model gave them: before penalties, bans and temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from runtime.engine.sampling_params import MAX_LOGPROBS


class TokenLogprobs(NamedTuple):
    """The log probability of one token at its position.

    Attributes:
        token_id: the token.
        logprob: natural logarithm of its probability.
        rank: 1 for the most likely token; equals share the better rank.
        top: the most likely tokens and their log probabilities, as many as were asked for, the likeliest first.
    """

    token_id: int
    logprob: float
    rank: int
    top: tuple[tuple[int, float], ...]


def token_logprobs(logits: Tensor, token_ids: Sequence[int], num_top: Sequence[int]) -> list[TokenLogprobs]:
    """Return the log probabilities of one token in each row.

    Args:
        logits: float32 [R, V].
        token_ids: R tokens: the sampled ones, or for a prompt the tokens that do follow.
        num_top: R numbers of most likely tokens to add, each at most `MAX_LOGPROBS`.
    """
    chosen = logits.gather(1, torch.tensor(token_ids, device=logits.device).unsqueeze(1))
    normaliser = logits.logsumexp(1, keepdim=True)
    logprobs = (chosen - normaliser).squeeze(1).tolist()
    better = torch.gt(logits, chosen, out=torch.empty_like(logits)).sum(1)  # zeros and ones: exact below 2**24
    ranks = [int(number) + 1 for number in better.tolist()]
    tops: list[tuple[tuple[int, float], ...]] = [()] * len(logprobs)
    if any(num_top):
        # Always as many, so that which of two equals comes first does not depend on other rows.
        best = logits.topk(min(MAX_LOGPROBS, logits.shape[1]))
        best_logprobs = (best.values - normaliser).tolist()
        pairs = zip(best.indices.tolist(), best_logprobs, num_top, strict=True)
        tops = [tuple(zip(ids[:num], values[:num], strict=True)) for ids, values, num in pairs]
    return [TokenLogprobs(*each) for each in zip(token_ids, logprobs, ranks, tops, strict=True)]
