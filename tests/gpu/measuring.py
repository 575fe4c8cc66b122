"""Timing what a call launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import torch

from benchmarks.record import Figure

RUNS = 20


@dataclass
class Measure:
    """Notes a figure a call.

    Attributes:
        figures: by name, in the order of measuring.
    """

    figures: dict[str, Figure] = field(default_factory=dict)

    def __call__(self, name: str, launch: Callable[[], object], unit: str = "ms", amount: float | None = None) -> None:
        """Time a launch, RUNS times after a first one. With an `amount`, the figure is that amount a second."""
        launch()
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        values = []
        for _ in range(RUNS):
            start.record()
            launch()
            stop.record()
            stop.synchronize()
            milliseconds = start.elapsed_time(stop)
            values.append(milliseconds if amount is None else 1000 * amount / milliseconds)
        self.figures[name] = Figure(unit, values)

    def table(self) -> list[str]:
        """A line a figure: median, lowest and highest."""
        return [
            f"{name:44} {median(each.values):10.4g} {each.unit:8} ({min(each.values):.4g} to {max(each.values):.4g})"
            for name, each in self.figures.items()
        ]
