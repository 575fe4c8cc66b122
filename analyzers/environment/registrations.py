"""What a registry says of one variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Registration(NamedTuple):
    """One entry of a registry. Line and column are 1-based."""

    name: str
    """`*` where the registry computes it."""
    line: int
    column: int
    fields: Mapping[str, Any]
    """What it states as literals, by field; a record within it is a mapping as well."""
    computed: Sequence[str] = ()
    """The fields that it states by something other than a literal."""
    reads: Sequence[str] | None = None
    """The names that its getter reads; None where it has no getter."""
    given: Sequence[Any] = ()
    """What its getter gives where the variable is not set; empty where that cannot be told."""
    annotated: Sequence[Any] = ()
    """What the module assigns to an annotated name of the same spelling, as for type checkers; else empty."""
    by_itself: bool = False
    """The registry reads the variable when it is made, as a class of pydantic settings does."""


DEFAULT = "default"
"""The field of what a registry of bare values, or of pydantic fields, states."""
