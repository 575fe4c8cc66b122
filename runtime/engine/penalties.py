"""Penalties for tokens that occurred before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from runtime.engine.sampling_params import SamplingParams


class TokenCounts:
    """Which tokens a sequence holds, and how often each was generated.

    Kept up to date token by token: a step costs what the distinct tokens cost, not the vocabulary or the length.

    Args:
        prompt_ids: tokens that are present before any was generated.
    """

    def __init__(self, prompt_ids: Sequence[int]) -> None:
        present = np.unique(np.asarray(prompt_ids, dtype=np.int64))
        self._size = len(present)
        self._tokens: npt.NDArray[np.int64] = np.concatenate([present, np.empty(max(64, self._size), dtype=np.int64)])
        self._counts = np.zeros(len(self._tokens), dtype=np.float32)
        self._places = {token: place for place, token in enumerate(present.tolist())}
        self._num_counted = 0

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """The distinct tokens of prompt and output."""
        return self._tokens[: self._size]

    @property
    def counts(self) -> npt.NDArray[np.float32]:
        """How often each of `tokens` occurs in the output."""
        return self._counts[: self._size]

    def follow(self, output_ids: Sequence[int]) -> None:
        """Count the tokens that the output has more than when it was last seen."""
        for token in output_ids[self._num_counted :]:
            place = self._places.setdefault(token, self._size)
            if place == self._size:
                self._append(token)
            self._counts[place] += 1
        self._num_counted = len(output_ids)

    def _append(self, token: int) -> None:
        if self._size == len(self._tokens):
            self._tokens = np.concatenate([self._tokens, np.empty_like(self._tokens)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._tokens[self._size] = token
        self._size += 1


class Penalised(NamedTuple):
    """A row of logits and what its penalties depend on."""

    row: int
    params: SamplingParams
    counts: TokenCounts


def apply_penalties(logits: Tensor, penalised: Sequence[Penalised]) -> None:
    """Change the logits of tokens that occurred, in place and for all rows at once.

    The repetition penalty is that of CTRL (Keskar et al., 2019) and counts prompt and output; presence and frequency
    penalties are those of the OpenAI API and count the output alone.

    Args:
        logits: float32 [R, V], contiguous.
        penalised: for the rows that have penalties.
    """
    tokens = [entry.counts.tokens for entry in penalised]
    lengths = [len(of_row) for of_row in tokens]
    starts = [entry.row * logits.shape[1] for entry in penalised]
    places = torch.from_numpy(np.concatenate(tokens) + np.repeat(starts, lengths)).to(logits.device)

    def per_token(*values: float) -> Tensor:
        return torch.from_numpy(np.repeat(np.array(values, dtype=np.float32), lengths)).to(logits.device)

    counts = torch.from_numpy(np.concatenate([entry.counts.counts for entry in penalised])).to(logits.device)
    repetition = per_token(*(entry.params.repetition_penalty for entry in penalised))
    frequency = per_token(*(entry.params.frequency_penalty for entry in penalised))
    presence = per_token(*(entry.params.presence_penalty for entry in penalised))

    flat = logits.view(-1)
    values = flat[places]
    values = torch.where(values > 0, values / repetition, values * repetition)
    flat[places] = values - frequency * counts - presence * (counts > 0)
