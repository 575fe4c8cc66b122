"""How much layering debt a tree carries, and where: the numbers behind `gates layering --report`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """How many findings one layer, kind or file holds."""

    name: str
    count: int
    before: int | None = None
    """The same count in the base; None when there is no base to compare with."""

    @property
    def change(self) -> int | None:
        """Findings more (positive) or fewer (negative) than in the base."""
        return None if self.before is None else self.count - self.before


@dataclass(frozen=True, slots=True)
class Matrix:
    """Who imports whom, between the layers of one contract or, where no layers are declared, between packages."""

    title: str
    """The contract's name, or "packages"."""
    levels: tuple[tuple[str, ...], ...]
    """The names, highest level first; siblings share a level. Without layers there is one level."""
    imports: tuple[tuple[int, ...], ...]
    """`imports[i][j]`: import statements in `names[i]` that lead straight to `names[j]`; square."""
    broken: tuple[tuple[int, ...], ...]
    """How many of those the contract forbids; same shape."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of rows and columns."""
        return tuple(name for level in self.levels for name in level)


@dataclass(frozen=True, slots=True)
class Debt:
    """Every table is sorted largest first, then by name. A row that only the base has counts 0."""

    total: Row
    by_layer: tuple[Row, ...]
    """A file counts for the first contract that has a layer for it, and else for its package."""
    by_kind: tuple[Row, ...]
    """Named "LAY101 model-family" for a coupling, "LAY001 layer-order" for any other rule."""
    by_file: tuple[Row, ...]
    matrices: tuple[Matrix, ...]
