"""The one owner of memory that products need besides their operands."""

from __future__ import annotations

import torch
from torch import Tensor

from runtime.kernels.growing_buffer import GrowingBuffer

TILE_ELEMENTS = 1 << 25
"""Weights that are decoded at a time: 64 MiB as float16."""


class Workspace:
    """A buffer for decoded weights, in which all layers take turns."""

    def __init__(self) -> None:
        self._buffer = GrowingBuffer(torch.float16, "decoded weights")

    def tile(self, rows: int, columns: int, device: torch.device) -> Tensor:
        """Uninitialised float16 [rows, columns], contiguous; valid until the next call.

        Raises:
            RuntimeError: the buffer would have to grow while a device graph is captured.
        """
        return self._buffer.take((rows, columns), device)
