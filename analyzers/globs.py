"""Path patterns, as every settings table writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_TOKEN = re.compile(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\])")


def _translate(pattern: str) -> str:
    """The regular expression of one pattern; see `matcher` for the rules."""
    parts = []
    for token in _TOKEN.split(pattern.strip("/")):
        if token == "**/":
            parts.append("(?:.*/)?")
        elif token == "**":
            parts.append(".*")
        elif token == "*":
            parts.append("[^/]*")
        elif token == "?":
            parts.append("[^/]")
        elif _TOKEN.fullmatch(token):
            body = token[1:-1].replace("\\", "\\\\")
            parts.append(f"[^{body[1:]}/]" if body.startswith("!") else f"[{body}]")
        else:
            parts.append(re.escape(token))
    return "".join(parts) + "(?:/.*)?"


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A predicate on POSIX paths relative to the root: does any of the patterns cover this path?

    `*` and `?` stay inside one folder, `**` spans any number of them, `[...]` is a set, and a pattern that names a
    folder covers everything below it. `.` covers the whole tree.
    """
    expressions = [".*" if pattern in (".", "./") else _translate(pattern) for pattern in patterns]
    if not expressions:
        return lambda path: False
    compiled = re.compile("|".join(f"(?:{expression})" for expression in expressions), re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None
