"""The record of one Markdown file, as it is cached and as the documentation analyser reads it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

Dialect = Literal["github", "mkdocs"]
"""Who renders the document: GitHub (and cmark-gfm), or MkDocs (Python-Markdown)."""

LinkKind = Literal["link", "image", "html", "definition"]
"""Inline link or autolink, image (Markdown's or HTML's), any other HTML attribute, reference definition."""


class Link(NamedTuple):
    """One place that points somewhere. Uses of a reference are not listed; its definition is, once."""

    target: str
    """As written, without the angle brackets or quotes around it."""
    destination: str
    """The target with Markdown's escapes and entities resolved; percent-encoding stays, because a decoded `#`
    could no longer be told from one that starts a fragment."""
    line: int
    """1-based line where the link, tag or definition starts."""
    column: int
    """1-based, in characters."""
    kind: LinkKind


class MarkdownFacts(NamedTuple):
    """What one Markdown file says on its own."""

    anchors: list[str]
    """The fragments that lead into the file, in order: heading slugs and explicit ids."""
    links: list[Link]
    complete: bool
    """False where a generator adds content that may hold more anchors (MkDocs snippets, macros, API pages)."""

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Rebuild from what `json.loads` gives for a dumped record."""
        anchors, links, complete = value
        return cls(anchors, [Link(*row) for row in links], complete)
