"""Which environment variables a tree reads, and where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from pathlib import PurePosixPath

from msgspec import Struct

ACCESS = r"(?<![\w.])(?:os\.)?(?:environ|getenv)\b"
"""The environment itself, and no module that is called like it: `pkg.environ`."""

_ACCESS = re.compile(ACCESS.encode())
_NAMED_READ = re.compile(
    rb"""\b(?:environ(?:\s*\[|\.(?:get|pop|setdefault)\s*\()|getenv\s*\()\s*f?["']([A-Z][A-Z0-9]*_)"""
)
_REGISTRY_STEM = re.compile(r"_?(?:envs?|environ|environment|env_vars?|env_variables?)")

_OWN_SHARE = 0.2
"""A prefix is the tree's own when at least this share of the reads that name a variable use it."""
_LEAST_READS = 3


class Environment(Struct, frozen=True):
    """Reads are counted as text, so that comments count too."""

    reads: int
    files: int
    """How many files read the environment."""
    prefixes: tuple[tuple[str, int], ...]
    """The tree's own prefixes (`SGLANG_`), with how many reads name them, most first."""
    registries: tuple[str, ...]
    """Files whose purpose seems to be to read the environment."""


class EnvironmentSurvey:
    """Takes in one Python file after the other."""

    def __init__(self) -> None:
        self._reads: dict[str, int] = {}
        self._prefixes: Counter[str] = Counter()

    def add(self, path: str, data: bytes) -> None:
        if (b"environ" in data or b"getenv" in data) and (reads := len(_ACCESS.findall(data))):
            self._reads[path] = reads
            self._prefixes.update(prefix.decode() for prefix in _NAMED_READ.findall(data))

    def result(self, packages: Collection[str]) -> Environment:
        """What was found; a prefix that spells one of the packages is the tree's own however rare it is."""
        own = {name.upper() + "_" for name in packages}
        total = self._prefixes.total()
        prefixes = tuple(
            (prefix, reads)
            for prefix, reads in self._prefixes.most_common()
            if reads >= _LEAST_READS and (prefix in own or reads >= total * _OWN_SHARE)
        )
        registries = [path for path, reads in self._reads.items() if reads >= _LEAST_READS and _is_registry(path)]
        return Environment(sum(self._reads.values()), len(self._reads), prefixes, tuple(sorted(registries)))


def _is_registry(path: str) -> bool:
    return _REGISTRY_STEM.fullmatch(PurePosixPath(path).stem) is not None
