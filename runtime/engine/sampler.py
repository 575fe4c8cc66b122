"""Chooses the next token of each sequence from the logits of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from runtime.engine.logprobs import TokenLogprobs, token_logprobs
from runtime.engine.penalties import Penalised, apply_penalties
from runtime.engine.sampling_row import SamplingRow
from runtime.kernels.operators import REFERENCE, Operators
from runtime.kernels.reference.sampling import NO_TOKEN


@dataclass(frozen=True, slots=True)
class SampledBatch:
    """What was chosen for each row.

    Attributes:
        tokens: token ids; `NO_TOKEN` for a row from which none can be chosen: its logits hold a NaN or plus infinity,
            or all of its tokens are banned. Other rows are not affected.
        logprobs: by row, for those that asked and have a token.
    """

    tokens: list[int]
    logprobs: list[TokenLogprobs | None]


class Sampler:
    """Chooses tokens; see `SamplingParams` for what acts in which order.

    It keeps nothing between steps, and each row's token depends on that row's logits, sequence and seed alone.

    Args:
        operators: draw tokens.
    """

    def __init__(self, operators: Operators = REFERENCE) -> None:
        self._operators = operators

    def sample(self, logits: Tensor, rows: Sequence[SamplingRow]) -> SampledBatch:
        """Choose a token for each row.

        Args:
            logits: float32 [R, V]; left as they are.
            rows: the R sequences.
        """
        tokens = _most_likely(logits)
        if all(row.plain for row in rows):
            return SampledBatch(tokens, [None] * len(tokens))
        sound = [place for place, token in enumerate(tokens) if token != NO_TOKEN]
        greedy = [place for place in sound if rows[place].params.greedy and rows[place].edited]
        drawn = [place for place in sound if not rows[place].params.greedy]
        if greedy:
            _put(tokens, greedy, _most_likely(_edited(logits, rows, greedy)))
        if drawn:
            _put(tokens, drawn, self._drawn(_edited(logits, rows, drawn), [rows[place] for place in drawn]))
        return SampledBatch(tokens, _logprobs(logits, tokens, rows))

    def _drawn(self, logits: Tensor, rows: Sequence[SamplingRow]) -> list[int]:
        """Draw a token for each row. Overwrites `logits`."""
        uniforms = [row.uniforms.at(len(row.output_ids)) for row in rows]
        tokens: list[int] = self._operators.draw_tokens(logits, [row.params for row in rows], uniforms).tolist()
        return tokens


def _put(tokens: list[int], places: Sequence[int], chosen: Sequence[int]) -> None:
    for place, token in zip(places, chosen, strict=True):
        tokens[place] = token


def _rows(logits: Tensor, places: Sequence[int]) -> Tensor:
    return logits.index_select(0, torch.tensor(places, device=logits.device))


def _most_likely(logits: Tensor) -> list[int]:
    """Return the token of the highest logit of each row, the first of equals.

    One pass also judges the row: the maximum is NaN where any logit is, and infinite where one is or where all are out.
    """
    if logits.is_cpu:  # NumPy is ten times faster than torch at this, which is all that a greedy batch needs
        values = logits.numpy()
        tokens = values.argmax(1)
        best = values[np.arange(len(tokens)), tokens]
        tokens[~np.isfinite(best)] = NO_TOKEN
        chosen: list[int] = tokens.tolist()
        return chosen
    highest = logits.max(1)
    return highest.indices.masked_fill_(~highest.values.isfinite(), NO_TOKEN).tolist()


def _edited(logits: Tensor, rows: Sequence[SamplingRow], places: Sequence[int]) -> Tensor:
    """Return a copy of the rows at `places`, after bias, penalties and bans."""
    edited = _rows(logits, places)
    chosen = [rows[place] for place in places]
    biases = [(row, token, bias) for row, each in enumerate(chosen) for token, bias in each.biases]
    if biases:
        in_row, tokens, values = zip(*biases, strict=True)
        edited[in_row, tokens] += torch.tensor(values, dtype=edited.dtype, device=edited.device)
    penalised = [Penalised(row, each.params, each.counts) for row, each in enumerate(chosen) if each.counts is not None]
    if penalised:
        for entry in penalised:
            entry.counts.follow(chosen[entry.row].output_ids)
        apply_penalties(edited, penalised)
    banned = [(row, token) for row, each in enumerate(chosen) for token in each.bans.after(each.output_ids)]
    if banned:
        in_row, tokens = zip(*banned, strict=True)
        edited[in_row, tokens] = -torch.inf
    return edited


def _logprobs(logits: Tensor, tokens: Sequence[int], rows: Sequence[SamplingRow]) -> list[TokenLogprobs | None]:
    found: list[TokenLogprobs | None] = [None] * len(rows)
    places = [place for place, row in enumerate(rows) if row.params.logprobs is not None and tokens[place] != NO_TOKEN]
    if places:
        chosen = [tokens[place] for place in places]
        num_top = [rows[place].params.logprobs or 0 for place in places]
        for place, of_token in zip(places, token_logprobs(_rows(logits, places), chosen, num_top), strict=True):
            found[place] = of_token
    return found
