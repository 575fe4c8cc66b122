"""Types of values that several commands take: counts within what can be planned for, and names of many."""

from __future__ import annotations

import math
from typing import Any

import click

from runtime.errors import meant
from runtime.formats.weights.declarations import WEIGHT_FORMATS
from runtime.linear.selector import DENSE
from runtime.models.fields import MOST_HEADS, MOST_POSITIONS

COUNT = click.IntRange(1, MOST_POSITIONS)
"""Tokens, rows, inputs or outputs."""

HEADS = click.IntRange(1, MOST_HEADS)

REQUESTS = click.IntRange(1, 1 << 16)
"""Served at once: far beyond what the memory of a card keeps a cache for, and few enough to be planned one by one."""


class _Name(click.Choice[str]):
    """One of so many names that an error tells those that are near instead of all."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> str:
        if value not in self.choices:
            names = [str(choice) for choice in self.choices]
            hint = meant(str(value), names, f"known: {', '.join(names)}")
            self.fail(f"nothing is called {value!r}; {hint}", param, context)
        return super().convert(value, param, context)


class _Bound(click.FloatRange):
    """A finite number above 0; a range alone lets NaN pass."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> float:
        number = float(super().convert(value, param, context))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number", param, context)
        return number


FORMAT = _Name((DENSE, *(spec.name for spec in WEIGHT_FORMATS)))
BOUND = _Bound(min=0, min_open=True)
