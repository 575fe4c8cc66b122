"""The one owner of memory that attention needs within a step and forgets after it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import torch
from torch import Tensor

from runtime.kernels.growing_buffer import GrowingBuffer

T = TypeVar("T")


class Workspace:
    """What depends on the step only, built once and shared by its layers, and memory that all steps share."""

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}
        self._buffer = GrowingBuffer(torch.float32, "attention workspace")
        self._counters = GrowingBuffer(torch.int32, "attention counters", zeroed=True)

    def reset(self) -> None:
        """Forget what was built: a new step begins. What all steps share stays."""
        self._built.clear()

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """What `build` gave for `key` in this step; it runs at the first call only. Read-only for callers."""
        if key not in self._built:
            self._built[key] = build()
        built: T = self._built[key]
        return built

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Uninitialised float32 memory, contiguous; valid until the next call, by whichever kernel.

        Raises:
            RuntimeError: it would have to grow while a device graph is captured.
        """
        return self._buffer.take(shape, device)

    def counters(self, count: int, device: torch.device) -> Tensor:
        """Zeros, int32 [count], for blocks of one launch to count one another: the last one sets them back to zero.

        Raises:
            RuntimeError: there would have to be more of them while a device graph is captured.
        """
        return self._counters.take((count,), device)
