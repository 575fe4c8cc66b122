"""The one owner of memory that attention needs within a step and forgets after it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from torch import Tensor


class Workspace:
    """Tensors that depend on the step only, built once and shared by its layers."""

    def __init__(self) -> None:
        self._tensors: dict[Hashable, Tensor] = {}

    def reset(self) -> None:
        """Forget everything: a new step begins."""
        self._tensors.clear()

    def once(self, key: Hashable, build: Callable[[], Tensor]) -> Tensor:
        """What `build` gave for `key` in this step; it runs at the first call only. Read-only for callers."""
        known = self._tensors.get(key)
        if known is None:
            known = self._tensors[key] = build()
        return known
