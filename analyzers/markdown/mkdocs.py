"""What MkDocs adds to Markdown, brought into a form that a CommonMark parser reads the same way."""

from __future__ import annotations

from collections.abc import Iterator

_BLOCK_OPENERS = (b"!!! ", b"??? ", b"???+ ", b'=== "', b'===+ "', b'===! "')
"""Admonitions, collapsible blocks (https://squidfunk.github.io/mkdocs-material/reference/admonitions/) and tabs
(https://facelessuser.github.io/pymdown-extensions/extensions/tabbed/)."""

_GENERATED = ("--8<--", "{{", "{%", "::: ")
"""Snippets, macros and mkdocstrings' API pages."""

_ITEM = b"-   >"


def as_commonmark(source: bytes) -> bytes:
    """The UTF-8 source with every admonition and tab turned into a list item, so that their content, indented
    by four spaces, reads as prose and not as code. No byte moves: offsets in the result hold in the source.

    The item opens with an empty quote because that, unlike a paragraph, lets any block start on the next line.
    """
    if not any(opener in source for opener in _BLOCK_OPENERS):
        return source
    lines = source.splitlines(keepends=True)
    for index, line in enumerate(lines):
        content = line.lstrip(b" ")
        if content.startswith(_BLOCK_OPENERS):
            body = content.rstrip(b"\r\n")
            indent = line[: len(line) - len(content)]
            lines[index] = indent + _ITEM.ljust(len(body)) + content[len(body) :]
    return b"".join(lines)


def generates_content(text: str) -> bool:
    """Does a piece of prose ask a plugin for content that may hold headings?"""
    return any(mark in text for mark in _GENERATED)


def attribute_ids(text: str) -> Iterator[str]:
    """The ids that attribute lists such as `{: #id .class }` in a piece of prose set
    (https://python-markdown.github.io/extensions/attr_list/)."""
    for piece in text.split("{")[1:]:
        body, brace, _ = piece.partition("}")
        if brace and "\n" not in body:
            for word in body.removeprefix(":").split():
                if len(word) > 1 and word.startswith("#"):
                    yield word[1:]
