"""Settings of the reference analyser: `[tool.gates.reference]`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from analyzers.declarations.policy import Symbol, TableShape
from analyzers.policy import Glob, Table, Text


class SectionPolicy(TableShape, kw_only=True):
    """One section of the page: a declared table, or the configuration."""

    heading: Text
    kind: Literal["table", "configuration"] = "table"
    symbol: Symbol | None = None
    """What holds the table."""
    fields: tuple[Text, ...] = ()
    """The fields that the page shows, in this order; every one that is not omitted, where none is named."""
    omitted: tuple[Text, ...] = ()
    """The other fields of the table."""
    optional: bool = False
    """Whether the table may be missing: then the page says so."""
    guide: Glob | None = None
    """A document that says what the table is for."""


class ReferencePolicy(Table, kw_only=True):
    page: Annotated[Glob, Meta(min_length=1)]
    """The generated page."""
    title: Text
    modules: tuple[str, ...] = ()
    """Modules whose names may stand in tables: those of the tree are read, others stand for themselves."""
    sections: Annotated[tuple[SectionPolicy, ...], Meta(min_length=1)]
