"""Reads the facts of a Python file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from analyzers.source import Source

_VERSION = 7
"""Goes up whenever the same text may give other facts."""


class PythonExtractor(Struct, frozen=True):
    """Facts of one file; they depend on no setting."""

    kind: str = f"python@{_VERSION}"

    def extract(self, source: Source) -> Sequence[Any]:
        """The file's facts, as `PythonFacts` stores them."""
        from analyzers.python.structure import read_python

        return read_python(source).stored
