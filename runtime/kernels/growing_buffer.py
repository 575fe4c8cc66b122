"""Memory that kernels take turns in."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class GrowingBuffer:
    """Memory that grows to what was ever asked for and never shrinks, so that its address stays put once the largest
    call was seen. What was outgrown is kept: a graph that was captured before goes on writing to it.

    Args:
        dtype: of its elements.
        purpose: what it holds, for messages.
        zeroed: whether it holds zeros when it has grown, and not anything.
    """

    def __init__(self, dtype: torch.dtype, purpose: str, *, zeroed: bool = False) -> None:
        self._dtype, self._purpose = dtype, purpose
        self._make = torch.zeros if zeroed else torch.empty
        self._buffers: list[Tensor] = []

    def take(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Memory as it was left, contiguous; valid until the next call.

        Raises:
            RuntimeError: it would have to grow while a device graph is captured.
        """
        elements = math.prod(shape)
        buffer = self._buffers[-1] if self._buffers else None
        if buffer is None or buffer.device != device or buffer.numel() < elements:
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                raise RuntimeError(
                    f"a captured graph needs {elements} elements of {self._purpose}, and the buffer is smaller: run "
                    "every step once before it is captured"
                )
            buffer = self._make(elements, dtype=self._dtype, device=device)
            self._buffers.append(buffer)
        return buffer[:elements].view(shape)
