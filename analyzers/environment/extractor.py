"""Reads what one file does with the environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from analyzers.environment.mentions import NOTHING, Vocabulary
from analyzers.python.words import offsets
from analyzers.source import Source

_VERSION = 5
"""Goes up whenever the same text may give other facts."""
_PYTHON = (".py", ".pyi")
_NATIVE = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp")
SUFFIXES = (*_PYTHON, *_NATIVE)
"""How the names of files end that may use the environment."""


class UsesExtractor(Struct, frozen=True):
    """Uses of the environment, and mentions of the names that a vocabulary is of."""

    wrappers: tuple[str, ...] = ()
    """Functions that read the variable that their first argument names."""
    vocabulary: Vocabulary = NOTHING

    @property
    def kind(self) -> str:
        settings = (self.wrappers, *self.vocabulary)
        return f"env@{_VERSION} {' | '.join(map(' '.join, settings))}"

    def extract(self, source: Source) -> Sequence[Any]:
        """The file's `FileUses`; an empty list, which is quick to load, where there is nothing to say."""
        if source.path.endswith(_PYTHON):
            from analyzers.environment.python import read_python

            found = read_python(source.text, self.wrappers, self.vocabulary)
        else:
            from analyzers.environment.native import read_native

            found = read_native(source.text, self.wrappers, self.vocabulary)
        return found if any(found) else []


class RegistryExtractor(Struct, frozen=True):
    """The entries of a registry that is bound to a name, or whose entries stand under a decorator."""

    symbol: str = ""
    decorator: str = ""
    wrappers: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return f"env-registry@{_VERSION} {self.symbol} | {self.decorator} | {' '.join(self.wrappers)}"

    def may_stand_in(self, text: str) -> bool:
        """Whether a text names the symbol or decorator at all."""
        return bool(offsets(text, (self.symbol or self.decorator,)))

    def extract(self, source: Source) -> Sequence[Any] | None:
        """Rows of `Registration`; None where the file binds the symbol to nothing that could be a registry, or does not
        name the decorator."""
        if not self.may_stand_in(source.text):
            return None
        from analyzers.environment.registry import read_bound, read_decorated

        try:
            if self.decorator:
                return read_decorated(source.text, self.decorator, self.wrappers)
            return read_bound(source.text, self.symbol, self.wrappers)
        except RecursionError:
            return None


class NamesExtractor(Struct, frozen=True):
    """The names in a document that start with one of the prefixes, each with its first line."""

    prefixes: tuple[str, ...]

    @property
    def kind(self) -> str:
        return f"env-names@{_VERSION} {' '.join(self.prefixes)}"

    def extract(self, source: Source) -> Sequence[tuple[str, int]]:
        if not any(prefix in source.text for prefix in self.prefixes):
            return []
        starts = "|".join(map(re.escape, self.prefixes))
        found: dict[str, int] = {}
        for match in re.finditer(rf"(?<!\w)(?:{starts})[A-Z0-9_]*[A-Z0-9](?![\w*]|_)", source.text):
            found.setdefault(match[0], match.start())
        return [(name, source.text.count("\n", 0, at) + 1) for name, at in found.items()]
