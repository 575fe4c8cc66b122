"""From the text of a heading to the anchor that leads to it, in each dialect.

`github` follows github-slugger 2.0 (https://github.com/Flet/github-slugger), whose generated expression keeps the
Unicode properties Alphabetic, Mark, Decimal_Number and Connector_Punctuation, the space and the hyphen. `mkdocs`
follows `slugify` and `unique` of Python-Markdown's toc extension
(https://python-markdown.github.io/extensions/toc/).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from analyzers.markdown.facts import Dialect

Slugger = Callable[[str], str]
"""Gives the anchor of the document's next heading."""

_NOT_WORD = re.compile(r"[^\w\s-]")
_GAP = re.compile(r"[-\s]+")
_COUNTED = re.compile(r"(.*)_([0-9]+)", re.DOTALL)


@cache
def _github_removed() -> Any:
    import regex

    return regex.compile(r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc} -]")


def github_slug(text: str) -> str:
    """The anchor of a heading that is the only one with its text."""
    return str(_github_removed().sub("", text.lower())).replace(" ", "-")


def mkdocs_slug(text: str) -> str:
    """The anchor of a heading that is the only one with its text; empty where nothing in it is ASCII."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return _GAP.sub("-", _NOT_WORD.sub("", ascii_text).strip().lower())


def _github_slugger() -> Slugger:
    occurrences: dict[str, int] = {}

    def slugger(text: str) -> str:
        original = result = github_slug(text)
        while result in occurrences:
            occurrences[original] += 1
            result = f"{original}-{occurrences[original]}"
        occurrences[result] = 0
        return result

    return slugger


def _mkdocs_slugger(reserved: Iterable[str]) -> Slugger:
    used = set(reserved)

    def slugger(text: str) -> str:
        result = mkdocs_slug(text)
        while not result or result in used:
            counted = _COUNTED.fullmatch(result)
            result = f"{counted[1]}_{int(counted[2]) + 1}" if counted else f"{result}_1"
        used.add(result)
        return result

    return slugger


def slugger_for(dialect: Dialect, reserved: Iterable[str]) -> Slugger:
    """A slugger for one document. `reserved` holds the ids that its attribute lists set, anywhere in it: MkDocs
    gives none of them to another heading, GitHub knows no attribute lists."""
    return _github_slugger() if dialect == "github" else _mkdocs_slugger(reserved)
