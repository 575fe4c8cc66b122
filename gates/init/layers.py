"""A first guess at layers: the order of a package's parts in which the fewest imports go up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from analyzers.layering.modules import Modules

_IMPORT = re.compile(rb"\n[ \t]*+(?:from[ \t]++(\.*)([\w.]*)[ \t]*import\b|import[ \t]++()([\w.]+))")
_MOST_PARTS = 9
"""The search looks at every subset of the parts."""
_LEAST_PARTS = 3
_LEAST_SHARE = 0.002
"""A part that holds less of the package's modules than this is left out of the guess."""


class LayerGuess(Struct, frozen=True):
    within: str
    """The package whose parts were put in order."""
    order: tuple[str, ...]
    """Highest first, relative to `within`."""
    upward: int
    """How many import statements go up in this order."""
    imports: int
    """How many go from one part to another."""


class LayerSurvey:
    """Takes in one Python file after the other, and counts who imports whom among the parts of one package."""

    def __init__(self, modules: Modules, within: str) -> None:
        self._within = within
        self._names = [name.split(".") for name in modules.names]
        self._is_package = [path.endswith("/__init__.py") for path in modules.paths]
        counts = Counter(name[1] for name in self._names if name[0] == within and len(name) > 1)
        least = max(2, len(modules) * _LEAST_SHARE)
        self._parts = [part for part, files in counts.most_common(_MOST_PARTS) if files >= least]
        self._imports: Counter[tuple[str, str]] = Counter()

    def add(self, number: int, data: bytes) -> None:
        name = self._names[number]
        if name[0] != self._within or len(name) < 2 or name[1] not in self._parts:
            return
        package = name if self._is_package[number] else name[:-1]
        for dots, after_from, _, after_import in _IMPORT.findall(b"\n" + data):
            target = (after_from or after_import).decode("utf-8", "replace").split(".")
            if dots:
                target = [*package[: len(package) - len(dots) + 1], *target]
            if len(target) > 1 and target[0] == self._within and target[1] in self._parts:
                self._imports[name[1], target[1]] += 1

    def guess(self) -> LayerGuess | None:
        """The best order; None where there are too few parts, or none imports another."""
        between = {pair: n for pair, n in self._imports.items() if pair[0] != pair[1]}
        if len(self._parts) < _LEAST_PARTS or not between:
            return None
        upward, order = _best_order(self._parts, between)
        return LayerGuess(self._within, order, upward, sum(between.values()))


def _best_order(parts: Sequence[str], imports: dict[tuple[str, str], int]) -> tuple[int, tuple[str, ...]]:
    """The fewest imports that can go up, and the order, highest first, in which that many do.

    Exact: the best order of a set puts one of its members on top of the best order of the others.
    """

    @cache
    def best(members: frozenset[str]) -> tuple[int, tuple[str, ...]]:
        if not members:
            return 0, ()
        choices = []
        for top in sorted(members):
            others = members - {top}
            upward, order = best(others)
            upward += sum(imports.get((other, top), 0) for other in others)
            choices.append((upward, (top, *order)))
        return min(choices)

    return best(frozenset(parts))
