"""Reads the facts of a Python file."""

from __future__ import annotations

from dataclasses import dataclass

from analyzers.python.facts import PythonFacts
from analyzers.source import Source

_VERSION = 1
"""Goes up whenever the same text may give other facts."""


@dataclass(frozen=True)
class PythonExtractor:
    """Facts of one file; they depend on no setting."""

    kind: str = f"python@{_VERSION}"

    def extract(self, source: Source) -> PythonFacts:
        """The file's facts, which JSON can hold; `PythonFacts.from_json` reads them back."""
        from analyzers.python.structure import read_python

        return read_python(source)
