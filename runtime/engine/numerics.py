"""Finds where a computation went wrong, after it was seen that it did."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from runtime.errors import NumericsError


class FirstNonFinite:
    """A probe that remembers, for some rows of a step, which part of the model first gave them a bad value.

    Args:
        spans: by row, the half-open range of its tokens in the step.
        dtype: of the model's products. What the probe is shown is in that of the residual stream.
    """

    def __init__(self, spans: Mapping[int, tuple[int, int]], dtype: torch.dtype) -> None:
        self._open = dict(spans)
        self._dtype = self._residual_dtype = dtype
        self._found: dict[int, str] = {}

    def __call__(self, name: str, value: Tensor) -> None:
        self._residual_dtype = value.dtype
        for row, (start, stop) in list(self._open.items()):
            if not torch.isfinite(value[start:stop]).all():
                self._found[row] = name
                del self._open[row]

    def error(self, row: int) -> NumericsError:
        """What to tell the caller of a row."""
        layer = self._found.get(row, "logits")
        return NumericsError(layer, f"{layer}: a value is not finite; {self._remedy()}")

    def _remedy(self) -> str:
        """What has not been done yet: of all formats, only float16 ends long before float32 does."""
        if self._residual_dtype == torch.float16:
            return "use a wider format: set model.residual_dtype to float32, or model.dtype"
        if self._dtype == torch.float16:
            return "use a wider format: set model.dtype to float32"
        return (
            "no format is wider, so the weights themselves are at fault: download the checkpoint again, or use another"
        )


def bad_tokens(hidden: Tensor) -> list[int]:
    """Tokens of a step whose hidden state is not finite.

    Args:
        hidden: [T, d]. One sum over all of it decides in the usual case; only if that is not finite, each is looked at.
    """
    if math.isfinite(hidden.sum(dtype=torch.float32)):
        return []
    found: list[int] = (~torch.isfinite(hidden).all(dim=-1)).nonzero().flatten().tolist()
    return found
