"""The one owner of memory that attention needs within a step and forgets after it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch
from torch import Tensor

from runtime.kernels.growing_buffer import GrowingBuffer


class Workspace:
    """Tensors that depend on the step only, built once and shared by its layers, and a buffer that all steps share."""

    def __init__(self) -> None:
        self._tensors: dict[Hashable, Tensor] = {}
        self._buffer = GrowingBuffer(torch.float32, "attention workspace")

    def reset(self) -> None:
        """Forget what was built: a new step begins. The buffer stays."""
        self._tensors.clear()

    def once(self, key: Hashable, build: Callable[[], Tensor]) -> Tensor:
        """What `build` gave for `key` in this step; it runs at the first call only. Read-only for callers."""
        known = self._tensors.get(key)
        if known is None:
            known = self._tensors[key] = build()
        return known

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Uninitialised float32 memory, contiguous; valid until the next call, by whichever kernel.

        Raises:
            RuntimeError: it would have to grow while a device graph is captured.
        """
        return self._buffer.take(shape, device)
