"""How long files and functions are."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

_DEF = re.compile(rb"\n([ \t]*+)(?:async[ \t]++)?def[ \t]")


class Sizes(Struct, frozen=True):
    """In lines: what 95 of 100 functions and files do not exceed; 0 where there are none."""

    function_lines: int
    file_lines: int


class SizeSurvey:
    """Takes in one Python file after the other, and keeps the length of each in lines."""

    def __init__(self) -> None:
        self.functions: list[int] = []
        self.files: list[int] = []

    def add(self, data: bytes) -> None:
        self.files.append(data.count(b"\n"))
        data = b"\n" + data
        for found in _DEF.finditer(data):
            end = _dedent(len(found[1])).search(data, found.end())
            function = data[found.start() : end.start() if end else len(data)]
            self.functions.append(function.strip().count(b"\n") + 1)

    def result(self) -> Sizes:
        return Sizes(_percentile(self.functions), _percentile(self.files))


@cache
def _dedent(indent: int) -> re.Pattern[bytes]:
    """A line that ends a function whose `def` stands this deep: no deeper itself, and not the end of a signature."""
    return re.compile(rb"\n[ \t]{0,%d}+[^\s)\]}#]" % indent)


def _percentile(sizes: list[int]) -> int:
    """The 95th, by nearest rank."""
    return sorted(sizes)[(len(sizes) * 95 - 1) // 100] if sizes else 0
