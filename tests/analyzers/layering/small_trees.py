"""Trees written down as path -> text."""

from __future__ import annotations

from collections.abc import Mapping

from analyzers.python.facts import PythonFacts
from analyzers.python.structure import read_python
from analyzers.source import Source


def read_tree(files: Mapping[str, str]) -> dict[str, PythonFacts]:
    """What each Python file says."""
    return {path: read_python(Source(path, text)) for path, text in files.items() if path.endswith(".py")}
