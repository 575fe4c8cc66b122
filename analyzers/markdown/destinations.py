"""Where a link's destination stands in the source.

A parser says what a destination means, not where it is written; a fix, and a message that quotes the source, need
the place. Every answer is checked against the parser's own, so a surprise gives no place and never a wrong one.
"""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPACE = b" \t\r\n"
_PLAIN_END = b" \t\r\n)"


class Written(NamedTuple):
    """A destination as written, and its UTF-8 byte range; the range is (-1, -1) where it could not be found."""

    target: str
    start: int
    end: int


def inline(source: bytes, content_end: int, link_end: int, destination: str) -> Written:
    """The destination of `[text](destination "title")`, whose text ends at `content_end`."""
    bracket = source.find(b"](", content_end, link_end)
    return _written(source, bracket + 2, link_end, destination) if bracket >= 0 else Written(destination, -1, -1)


def definition(source: bytes, start: int, end: int, destination: str) -> Written:
    """The destination of `[label]: destination "title"`."""
    bracket = source.find(b"]:", start, end)
    while bracket > 0 and source[bracket - 1 : bracket] == b"\\":
        bracket = source.find(b"]:", bracket + 1, end)
    return _written(source, bracket + 2, end, destination) if bracket >= 0 else Written(destination, -1, -1)


def _written(source: bytes, start: int, limit: int, destination: str) -> Written:
    while start < limit and source[start] in _SPACE:
        start += 1
    if source[start : start + 1] == b"<":
        start += 1
        end = _angle_end(source, start, limit)
    else:
        plain = destination.encode("utf-8", "replace")
        end = start + len(plain)
        if not source.startswith(plain, start) or (end < limit and source[end] not in _PLAIN_END):
            end = _bare_end(source, start, limit)
    target = source[start:end].decode("utf-8", "replace")
    if target == destination or _resolved(target) == destination:
        return Written(target, start, end)
    return Written(destination, -1, -1)


def _resolved(target: str) -> str:
    """The target without backslash escapes and entities; an escaped `&` starts no entity."""
    pieces = _ESCAPE.split(target)
    return "".join(piece if index % 2 else unescape(piece) for index, piece in enumerate(pieces))


def _angle_end(source: bytes, start: int, limit: int) -> int:
    position = start
    while position < limit and source[position : position + 1] != b">":
        position += 2 if source[position : position + 1] == b"\\" else 1
    return min(position, limit)


def _bare_end(source: bytes, start: int, limit: int) -> int:
    """Where a destination without angle brackets ends: at white space, or at a parenthesis it did not open."""
    depth = 0
    position = start
    while position < limit:
        byte = source[position : position + 1]
        if byte == b"\\":
            position += 1
        elif byte in (b" ", b"\t", b"\r", b"\n"):
            break
        elif byte == b"(":
            depth += 1
        elif byte == b")":
            if depth == 0:
                break
            depth -= 1
        position += 1
    return min(position, limit)
