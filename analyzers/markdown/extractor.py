"""Reads the facts of a Markdown file."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from msgspec import Struct

from analyzers.markdown.facts import Dialect, Link, MarkdownFacts
from analyzers.source import Source

_VERSION = 2
"""Goes up whenever the same text may give other facts."""

SUFFIXES = (".md", ".markdown")
"""How the names of Markdown files end, in any case."""


def is_markdown(path: str) -> bool:
    return path.lower().endswith(SUFFIXES)


class MarkdownExtractor(Struct, frozen=True):
    """Facts of one file in one dialect."""

    dialect: Dialect

    @property
    def kind(self) -> str:
        return f"markdown@{_VERSION}:{self.dialect}"

    def extract(self, source: Source) -> MarkdownFacts:
        """The file's facts, which JSON can hold; `MarkdownFacts.from_json` reads them back."""
        from analyzers.markdown.parser import parse

        document = parse(source.text, self.dialect)
        starts = [0, *accumulate(len(line) + 1 for line in source.text.split("\n"))]
        links = []
        for link in document.links:
            line = bisect_right(starts, link.start)
            column = link.start - starts[line - 1] + 1
            links.append(Link(link.target, link.destination, line, column, link.kind))
        return MarkdownFacts(document.anchors, links, document.complete)
