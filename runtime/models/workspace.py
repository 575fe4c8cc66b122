"""The one owner of memory that the layers of a decode step write their results to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.models.config import DecoderConfig

FEW_ROWS = 8
"""Steps of more rows allocate what they need, which takes them no time that counts."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where each result of a layer is put, in every layer and every step; None is for memory of its own.

    Attributes:
        residual: [T, d] in the dtype of the residual stream; the others are in the compute dtype.
        normed: [T, d], what a branch reads.
        heads: [T, (H + 2 KV) D], queries, keys, values.
        turned, attended: [T, H, D], queries, and what attention makes of them.
        gated: [T, F].
        branch: [T, d], where a branch is not added to the residual stream as it is computed.
    """

    residual: Tensor | None = None
    normed: Tensor | None = None
    heads: Tensor | None = None
    turned: Tensor | None = None
    attended: Tensor | None = None
    gated: Tensor | None = None
    branch: Tensor | None = None


_NONE = Rooms()


class Workspace:
    """Rooms for steps of few rows. Their addresses stay put, and steps of every size share them."""

    def __init__(
        self, config: DecoderConfig, dtype: torch.dtype, residual_dtype: torch.dtype, device: torch.device
    ) -> None:
        d, (queries, keys, values) = config.hidden_size, config.qkv_heads
        heads = queries, config.head_dim
        self._device = device
        self._rows: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
            "residual": (residual_dtype, (d,)),
            "normed": (dtype, (d,)),
            "heads": (dtype, ((queries + keys + values) * config.head_dim,)),
            "turned": (dtype, heads),
            "attended": (dtype, heads),
            "gated": (dtype, (config.intermediate_size,)),
            "branch": (dtype, (d,)),
        }
        self._memory: dict[str, Tensor] = {}
        self._known: dict[int, Rooms] = {}

    def rooms(self, rows: int) -> Rooms:
        """The rooms of a step; what is in them is valid until the next step."""
        if rows > FEW_ROWS:
            return _NONE
        if rows not in self._known:
            self._known[rows] = Rooms(**{name: self._room(name, rows) for name in self._rows})
        return self._known[rows]

    def _room(self, name: str, rows: int) -> Tensor:
        dtype, row = self._rows[name]
        if name not in self._memory:
            self._memory[name] = torch.empty(FEW_ROWS * math.prod(row), dtype=dtype, device=self._device)
        return self._memory[name][: rows * math.prod(row)].view(rows, *row)
