"""What a file says of attributes without being parsed: which it may get at, and what only types can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from analyzers.source import Source

_VERSION = 8
"""Goes up whenever the same text may give other facts."""

ANYTHING = "*"
"""Stands for whatever words do not tell."""


class AttributeNames(NamedTuple):
    """The attributes of a file. Names are in order, separated by spaces."""

    names: str
    """What it gets at as attributes of anything. Attributes of what is imported as a module do not count."""
    unsure: str
    """What else may be the name of an attribute that is read: only a syntax tree and the types in it tell."""
    spreads: str
    """Where it may read attributes that it does not name, as `f(**vars(x))` and `case Config(1)` do: the names one of
    which leads to the object, and `ANYTHING` among them where words do not tell."""
    parses: bool
    """Whether it parses for sure, unless it has a syntax error."""


class AttributeNamesExtractor(Struct, frozen=True):
    """Finds the names of attributes; it depends on no setting."""

    kind: str = f"attribute-names@{_VERSION}"

    def extract(self, source: Source) -> Sequence[Any]:
        """The file's `AttributeNames`."""
        from analyzers.configuration.attribute_reader import attribute_names

        return attribute_names(source.text)
