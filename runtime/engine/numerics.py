"""Finds where a computation went wrong, after it was seen that it did."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from runtime.errors import NumericsError

_REMEDY = "use a wider format: set model.residual_dtype to float32, or model.dtype"


class FirstNonFinite:
    """A probe that remembers, for some rows of a step, which part of the model first gave them a bad value.

    Args:
        spans: by row, the half-open range of its tokens in the step.
    """

    def __init__(self, spans: Mapping[int, tuple[int, int]]) -> None:
        self._open = dict(spans)
        self._found: dict[int, str] = {}

    def __call__(self, name: str, value: Tensor) -> None:
        for row, (start, stop) in list(self._open.items()):
            if not torch.isfinite(value[start:stop]).all():
                self._found[row] = name
                del self._open[row]

    def error(self, row: int) -> NumericsError:
        """What to tell the caller of a row."""
        layer = self._found.get(row, "logits")
        return NumericsError(layer, f"{layer}: a value is not finite; {_REMEDY}")


def bad_tokens(hidden: Tensor) -> list[int]:
    """Tokens of a step whose hidden state is not finite.

    Args:
        hidden: [T, d]. One sum over all of it decides in the usual case; only if that is not finite, each is looked at.
    """
    if math.isfinite(hidden.sum(dtype=torch.float32)):
        return []
    found: list[int] = (~torch.isfinite(hidden).all(dim=-1)).nonzero().flatten().tolist()
    return found
