"""One file's bytes, and what every extractor wants of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analyzers.python.lexer import Lexed


class Problem(NamedTuple):
    """Why a file could not be read as what it claims to be."""

    rule: str
    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Source:
    """A decoded file. `text` has universal newlines and no byte order mark, as `open(path).read()` gives it."""

    path: str
    text: str

    @cached_property
    def lexed(self) -> Lexed:
        """The text as Python's tokens see it; only meaningful for a Python file."""
        from analyzers.python.lexer import lex

        return lex(self.text)
