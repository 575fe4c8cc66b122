"""Settings by which a declared table is found and read."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from analyzers.policy import Table

Symbol = Annotated[str, Meta(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)+$")]
"""A dotted name: that of a module and of what it binds."""


class TableShape(Table):
    """How a table is written."""

    shape: Literal["records", "rows", "mapping", "tuples"] = "records"
    record: Symbol | None = None
    """Of `rows`: the class that the builder makes of each row."""
    keys: tuple[str, ...] = ()
    """Of a mapping: what its keys say, whether they are nested or are the parts of one tuple."""
    columns: tuple[str, ...] = ()
    """Of a mapping, or of tuples: what the parts of its values say."""
