"""Graphs of a CUDA device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class CudaGraph:
    """A captured CUDA graph and the tensor that it computes."""

    graph: torch.cuda.CUDAGraph
    output: Tensor

    def replay(self) -> None:
        self.graph.replay()


class CudaGraphs:
    """Captures on the current device. All its graphs allocate from one pool, so only one may be replayed at a time."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def capture(self, run: Callable[[], Tensor]) -> CudaGraph:
        """Record what `run` launches. It must not wait for the device."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self._pool):
            output = run()
        return CudaGraph(graph, output)
