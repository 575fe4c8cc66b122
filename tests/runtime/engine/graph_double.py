"""A stand-in for device graphs on a CPU, which refuses what a real graph would silently get wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from runtime.kernels.paged import KVPages, PagedRows

Operation = tuple[str, tuple[tuple[int, tuple[int, ...]], ...]]


class Addresses(TorchDispatchMode):
    """Every operation, with place and shape of the operands that it did not get from an earlier one."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []
        self._made: dict[int, Tensor] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operands = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        lasting = [each for each in operands if each.untyped_storage().data_ptr() not in self._made]
        self.operations.append((str(func), tuple((each.data_ptr(), tuple(each.shape)) for each in lasting)))
        result = func(*args, **(kwargs or {}))
        theirs = {each.untyped_storage().data_ptr() for each in operands}
        for made in tree_leaves(result):
            if isinstance(made, Tensor) and made.untyped_storage().data_ptr() not in theirs:
                self._made[made.untyped_storage().data_ptr()] = made  # kept, so that its place is not given away
        return result


@dataclass
class DoubleGraph:
    run: Callable[[], Tensor]
    operations: list[Operation]
    output: Tensor

    def replay(self) -> None:
        addresses = Addresses()
        with addresses:
            result = self.run()
        assert addresses.operations == self.operations, "a replay did something else, or elsewhere, than was captured"
        self.output.copy_(result)


class DoubleBackend:
    """Runs what it captured once more at each replay, and checks that not one operand has moved."""

    def __init__(self) -> None:
        self.captured: list[int] = []

    def capture(self, run: Callable[[], Tensor]) -> DoubleGraph:
        addresses = Addresses()
        with addresses:
            output = run()
        self.captured.append(len(output))
        return DoubleGraph(run, addresses.operations, output.clone())


def decode_by_metadata(query: Tensor, pages: KVPages, rows: PagedRows, *, scale: float, out: Tensor, **_: Any) -> None:
    """Decode attention that reads the device's numbers only, as a kernel on a card does."""
    numbers = rows.metadata
    within = torch.arange(rows.block_size)
    slots = (numbers.block_tables.long()[:, :, None] * rows.block_size + within).flatten(1)
    seen = torch.arange(slots.shape[1]) < numbers.context_lens[:, None]
    keys, values = (
        torch.where(seen[:, None, :, None], each.transpose(0, 1)[slots].transpose(1, 2).float(), 0.0)
        for each in (pages.keys, pages.values)
    )
    own = numbers.query_starts.long()
    grouped = query[own].view(len(slots), keys.shape[1], -1, query.shape[-1]).float()
    scores = (grouped @ keys.mT * scale).masked_fill(~seen[:, None, None], float("-inf"))
    out[own] = (scores.softmax(-1) @ values).view(len(slots), *query.shape[1:]).to(out.dtype)
