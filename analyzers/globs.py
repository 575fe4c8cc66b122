"""Path patterns, as every settings table writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate

_TOKEN = re.compile(r"(\*+|\?|\[(?:!.|[^!])[^\]]*\])", re.DOTALL)


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A predicate on POSIX paths relative to the root: does any of the patterns cover this path?

    `*` and `?` stay inside one folder, `**` as a whole segment spans any number of folders, `[...]` is a set
    of characters as `fnmatch` reads it, and a pattern that names a folder covers everything below it. `.`
    covers the whole tree. Case counts on every platform.
    """
    expressions = [_translate(pattern) for pattern in patterns]
    if not expressions:
        return lambda path: False
    compiled = re.compile("|".join(expressions), re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None


def unclosed_set(pattern: str) -> bool:
    """Whether a `[` in the pattern opens no set: a set ends within its segment."""
    return any("[" in _TOKEN.sub("", segment) for segment in pattern.split("/"))


def _translate(pattern: str) -> str:
    """The regular expression of one pattern."""
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if not segments:
        return ".*" if "." in pattern else "(?!)"
    expression = ""
    for segment in segments[:-1]:
        expression += "(?:.*/)?" if segment == "**" else "".join(_segment(segment)) + "/"
    if segments[-1] == "**":
        return f"{expression}.*"
    return expression + "".join(_segment(segments[-1])) + "(?:/.*)?"


def _segment(segment: str) -> Iterator[str]:
    """The parts of one segment's expression, none of which matches a slash."""
    for token in _TOKEN.split(segment):
        if token.startswith("*"):
            yield "[^/]*"
        elif token == "?":
            yield "[^/]"
        elif _TOKEN.fullmatch(token):
            yield _set(token)
        else:
            yield re.escape(token)


def _set(token: str) -> str:
    """The expression of `[...]`, which `translate` gives as `(?s:EXPRESSION)` and an anchor."""
    translated = translate(token)
    return "(?!/)" + translated[len("(?s:") : translated.rindex(")")]
