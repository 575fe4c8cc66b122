"""One file's text, or why there is none."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Problem(NamedTuple):
    """Why a file could not be read as what it claims to be."""

    rule: str
    line: int
    column: int
    message: str


class Source(Struct, frozen=True):
    """A decoded file. `text` has universal newlines and no byte order mark, as `open(path).read()` gives it."""

    path: str
    text: str
