"""Declared tables of routes, and the namespaces in which a tree registers native operators."""

from __future__ import annotations

import re

from msgspec import Struct, field

NATIVE = (".cc", ".cpp", ".cu", ".cxx")
"""How the names of files end that may register operators."""

_TABLE = re.compile(rb"^((?:[A-Z][A-Z0-9]*_)*ROUTE(?:S|_SPECS|_TABLE))[ \t]*(?::[^=\n]+)?=[ \t]*[(\[{]", re.MULTILINE)
_BLOCK = re.compile(rb"\bTORCH_LIBRARY(?:_FRAGMENT)?\s*\(\s*([a-z_]\w*)\s*,", re.IGNORECASE)
_MACRO = re.compile(r"[A-Z0-9_]*[A-Z0-9][A-Z0-9_]{2,}")


class TableSurvey(Struct):
    """Takes in one file after the other."""

    tables: list[str] = field(default_factory=list)
    """Dotted names of what seems to be a table of routes."""
    namespaces: set[str] = field(default_factory=set)
    """Of native operators, where C++ spells them out."""

    def add_python(self, module: str, data: bytes) -> None:
        if b"ROUTE" in data:
            self.tables += [f"{module}.{found.decode()}" for found in _TABLE.findall(data)]

    def add_native(self, data: bytes) -> None:
        if b"TORCH_LIBRARY" in data:
            names = (found.decode() for found in _BLOCK.findall(data))
            self.namespaces.update(name for name in names if not _MACRO.fullmatch(name))
