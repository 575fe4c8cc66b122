"""Reads the native facts of a file, whatever its language."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from msgspec import Struct

from analyzers.native.vocabulary import Vocabulary
from analyzers.source import Source

_VERSION = 1
"""Goes up whenever the same text may give other facts."""

_PYTHON = (".py", ".pyi")
_CPP = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".hip", ".inc", ".mm")
SUFFIXES = (*_PYTHON, *_CPP)
"""Of the files that may register or call an operator."""


class NativeExtractor(Struct, frozen=True):
    """Native facts of one file, as `NativeFacts.from_json` reads them."""

    vocabulary: Vocabulary

    @property
    def kind(self) -> str:
        """Names the fact: another vocabulary gives another one."""
        digest = blake2b(repr(self.vocabulary).encode("utf-8", "surrogatepass"), digest_size=8)
        return f"native@{_VERSION}:{digest.hexdigest()}"

    def extract(self, source: Source) -> dict[str, Any]:
        if source.path.endswith(_PYTHON):
            from analyzers.native.python_facts import read_python

            return read_python(source.text, self.vocabulary).stored()
        from analyzers.native.cpp_facts import read_cpp

        return read_cpp(source.text, self.vocabulary).stored()
