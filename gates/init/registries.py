"""Registries of environment variables: mappings and classes with many names of one prefix, in files that read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from analyzers.environment.extractor import RegistryExtractor
from analyzers.environment.registrations import Registration
from analyzers.source import Source
from gates.init.blocks import block_after

_CLASS = re.compile(rb"\nclass[ \t]++(\w++)[^\n:]*+:")
_MAPPING = re.compile(rb"\n(\w++)[ \t]*+(?::[^=\n]++)?=[^\n{]*+\{")
_FIELD = re.compile(rb"\n[ \t]++([A-Z][A-Z0-9]*+_)[A-Z0-9_]++[ \t]*+(?::[^=\n]++)?=")
_KEY = re.compile(rb"""\n[ \t]++["']([A-Z][A-Z0-9]*+_)[A-Z0-9_]++["'][ \t]*+:""")
_LAZY = b"\ndef __getattr__("
_LEAST_VARIABLES = 5
_LEAST_SHARE = 0.8
"""So many of the names have the prefix, and so many of them does the gate find as well."""


class Registry(Struct, frozen=True):
    """What the environment gate can read as a registry, tried out."""

    path: str
    symbol: str
    accessor: str
    """The name by which code reads it."""
    prefix: str
    variables: int


class RegistrySurvey:
    """Takes in one Python file after the other."""

    def __init__(self) -> None:
        self.found: list[Registry] = []

    def add(self, path: str, data: bytes) -> None:
        if b"environ" in data or b"getenv" in data:
            data = b"\n" + data
            self.found += filter(None, (_tried(path, data, *named) for named in _candidates(data)))


def _candidates(data: bytes) -> Iterator[tuple[str, str]]:
    """Symbols that seem to be registries, each with the prefix of most of its names."""
    for opening, entry in ((_CLASS, _FIELD), (_MAPPING, _KEY)):
        if len(entry.findall(data)) < _LEAST_VARIABLES:
            continue
        for found in opening.finditer(data):
            prefixes = Counter(entry.findall(block_after(data, found.end())))
            for prefix, names in prefixes.most_common(1):
                if _is_most(names, prefixes.total()):
                    yield found[1].decode(), prefix.decode()


def _tried(path: str, data: bytes, symbol: str, prefix: str) -> Registry | None:
    """The registry as the gate reads it; None where it sees something else in it, or nobody can read it by a name."""
    accessor = _accessor(path, data, symbol)
    if not accessor:
        return None
    try:
        rows = RegistryExtractor(symbol).extract(Source(path, data.decode())) or ()
    except UnicodeDecodeError:
        return None
    names = [Registration(*row).name for row in rows]
    own = sum(name.startswith(prefix) for name in names)
    return Registry(path, symbol, accessor, prefix, own) if _is_most(own, len(names)) else None


def _accessor(path: str, data: bytes, symbol: str) -> str:
    """The instance of a class that its module makes, or the module if it looks its attributes up; else empty."""
    instance = re.search(rb"\n(\w++)[ \t]*+(?::[^=\n]++)?=[ \t]*+%b\(\)" % symbol.encode(), data)
    if instance:
        return instance[1].decode()
    return PurePosixPath(path).stem if _LAZY in data else ""


def _is_most(names: int, of: int) -> bool:
    return names >= max(_LEAST_VARIABLES, _LEAST_SHARE * of)
