"""Where code names one of the tree's own variables, whether or not it touches the environment there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from analyzers.environment.uses import Mention
from analyzers.python.words import in_word

Position = Callable[[int], tuple[int, int]]
_ATTRIBUTE = re.compile(r"(\w*)\s*\.\s*\Z")
_CALL = re.compile(r"(\w+)\s*\(\s*\Z")
_REACH = 80
"""How far before a name its context may start."""


class Vocabulary(NamedTuple):
    """Which names are of interest."""

    prefixes: tuple[str, ...] = ()
    """What they start with."""
    accessors: tuple[str, ...] = ()
    """Names whose attributes they are, whatever they start with."""

    def may_occur_in(self, text: str) -> bool:
        return any(prefix in text for prefix in self.prefixes) or any(f"{name}." in text for name in self.accessors)


NOTHING = Vocabulary()


def mentions(text: str, code: str, vocabulary: Vocabulary, position: Position) -> list[Mention]:
    """The first place of each name in each context.

    Args:
        text: the file.
        code: as long as the text: every character of a string is `"`, every one of a comment a space.
        vocabulary: the names of interest.
        position: line and column of an offset.
    """
    found: dict[tuple[str, str], int] = {}
    for start, end in _places(text, vocabulary):
        context: str | None = None
        if code[start] == '"':
            context = _string_context(text, code, start, end)
        elif code[start] != " ":
            attribute = _ATTRIBUTE.search(code, max(0, start - _REACH), start)
            context = f"{attribute[1]}." if attribute else ""
        if context is not None:
            found.setdefault((text[start:end], context), start)
    return [Mention(name, context, *position(at)) for (name, context), at in found.items()]


def _string_context(text: str, code: str, start: int, end: int) -> str | None:
    """The call that a string is the first argument of; None where the name is not the whole string."""
    quote = text[start - 1]
    if quote not in "\"'" or text[end : end + 1] != quote or text[start - 2 : start] == quote * 2:
        return None
    call = _CALL.search(code[max(0, start - _REACH) : start - 1])
    return f"{call[1]}(" if call else ""


def _places(text: str, vocabulary: Vocabulary) -> Iterator[tuple[int, int]]:
    """Start and end of each name of the vocabulary. Patterns that start with a literal are the fast ones."""
    for prefix in vocabulary.prefixes:
        for match in re.finditer(rf"{re.escape(prefix)}\w+", text):
            if not in_word(text[match.start() - 1 : match.start()]):
                yield match.span()
    for accessor in vocabulary.accessors:
        for match in re.finditer(rf"{re.escape(accessor)}\.([A-Z]\w+)", text):
            yield match.span(1)
