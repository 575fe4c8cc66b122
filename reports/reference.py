"""The reference page: what a tree declares, each declaration linked to its line."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename, dirname, relpath
from typing import Any
from urllib.parse import quote

from analyzers.declarations.values import Place
from analyzers.generated import WRITE_REFERENCE, generated_mark
from analyzers.reference.configuration import QUOTED
from analyzers.reference.page import Block, Page, Section
from reports.markdown import code, escaped, table

_HEAD = (
    f"{generated_mark(WRITE_REFERENCE)} from the source; change that, not this file. It holds declarations: a row"
    " repeats what a table or a class states, also where that is called implemented. That an operator exists, is"
    " chosen or has run takes other evidence."
)
_MOST_PATHS = 4
"""Owner paths shown of one class."""
_LONGEST = 80
"""Characters shown of quoted source: an annotation may carry a whole manual."""


def render(page: Page) -> str:
    """The page; the same declarations at the same lines give the same page."""
    blocks = [f"# {escaped(page.title)}", _HEAD]
    for section in page.sections:
        blocks += _section(page, section)
    return "\n\n".join(blocks) + "\n"


def _section(page: Page, section: Section) -> Iterator[str]:
    yield f"## {escaped(section.heading)}"
    if section.guide:
        yield f"What it is for: {_link(page, section.guide, section.guide)}."
    if not section.blocks:
        yield f"None declared yet: the source has no {code(section.symbol)}."
    for block in section.blocks:
        if block.name:
            yield f"### {code(block.name)}"
            yield f"Declared in {_source(page, block.place)}; owned as {_owner_paths(block)}."
        else:
            yield f"Declared by {code(section.symbol)} in {_source(page, block.place)}."
        yield _rows(page, block)


def _rows(page: Page, block: Block) -> str:
    if not block.rows:
        return "It is empty."
    header = (*map(escaped, block.columns), "Source")
    rows = (
        (*(_field(block, column, row.fields.get(column)) for column in block.columns), _source(page, row.place))
        for row in block.rows
    )
    return table(header, rows, "l" * len(header))


def _field(block: Block, column: str, value: Any) -> str:
    is_source = bool(block.name) and column in QUOTED
    if not is_source or not value:
        return _cell(value)
    return code(value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}...")


def _owner_paths(block: Block) -> str:
    shown = ", ".join(map(code, block.owner_paths[:_MOST_PATHS]))
    left = len(block.owner_paths) - _MOST_PATHS
    return f"{shown} and {left:,} more" if left > 0 else shown


def _source(page: Page, place: Place) -> str:
    return _link(page, f"{basename(place.path)}:{place.line}", place.path, f"#L{place.line}")


def _link(page: Page, text: str, path: str, fragment: str = "") -> str:
    target = quote(relpath(path, dirname(page.path) or "."), errors="surrogateescape")
    return f"[{code(text)}]({target}{fragment})"


def _cell(value: Any) -> str:
    """What a declaration states: words as words, names as code, nothing for what is empty."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return escaped(" ".join(value.split())) if any(map(str.isspace, value)) else code(value) if value else ""
        case list():
            return ", ".join(map(_inner, value))
        case dict():
            return ", ".join(f"{escaped(name)}: {_inner(inner)}" for name, inner in value.items())
    return str(value)


def _inner(value: Any) -> str:
    """A part of a list or mapping."""
    return f"({_cell(value)})" if isinstance(value, list | dict) else _cell(value)
