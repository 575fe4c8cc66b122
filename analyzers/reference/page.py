"""What the page says, before it is rendered: sections of blocks of rows, each with its place in the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from msgspec import Struct

from analyzers.declarations.values import EnumMember, Place, Record, Reference, Value, text_of

VERSION = 1
"""Of the JSON document; goes up when a reader of it would break."""
EVIDENCE = "declarations, read from source; nothing is claimed to exist, to be chosen or to have run"


class PageRow(Struct, frozen=True):
    """One declaration."""

    place: Place
    fields: Mapping[str, Any]
    """Column -> what it declares, as `stated` gives it. A field that is not declared is not there."""


class Block(Struct, frozen=True):
    """One table of the page."""

    name: str
    """Of the configuration class; empty where the block is its whole section."""
    owner_paths: Sequence[str]
    """The ways from a root to the class; that to a root itself is its name."""
    place: Place
    columns: Sequence[str]
    rows: Sequence[PageRow]


class Section(Struct, frozen=True):
    """One section of the page."""

    heading: str
    kind: str
    symbol: str
    """What holds the table; empty for the configuration."""
    guide: str
    """A document about it; empty for none."""
    blocks: Sequence[Block]
    """None where an optional table is not declared."""


class Page(Struct, frozen=True):
    """The whole page."""

    path: str
    title: str
    sections: Sequence[Section]

    def to_json(self) -> dict[str, Any]:
        """The facts, as docs/interfaces.md describes them."""
        return {
            "version": VERSION,
            "evidence": EVIDENCE,
            "page": self.path,
            "title": self.title,
            "sections": [*map(_section, self.sections)],
        }


def stated(value: Value) -> Any:
    """A declared value as JSON can hold it: records as objects of their fields, sets in order, names as texts."""
    match value:
        case Record(fields=fields):
            return {name: stated(inner) for name, inner in fields}
        case Reference(name=name):
            return name
        case EnumMember(value=inner):
            return stated(inner)
        case tuple():
            return [*map(stated, value)]
        case frozenset():
            return sorted(map(stated, value), key=lambda item: (str(type(item)), str(item)))
        case dict():
            return {text_of(key): stated(item) for key, item in value.items()}
        case float() if not isfinite(value):
            return str(value)
    return value


def _section(section: Section) -> dict[str, Any]:
    return {
        "heading": section.heading,
        "kind": section.kind,
        "symbol": section.symbol or None,
        "guide": section.guide or None,
        "declared": bool(section.blocks),
        "blocks": [*map(_block, section.blocks)],
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "name": block.name or None,
        "path": block.place.path,
        "line": block.place.line,
        "owner_paths": [*block.owner_paths],
        "columns": [*block.columns],
        "rows": [{"path": row.place.path, "line": row.place.line, "fields": row.fields} for row in block.rows],
    }
