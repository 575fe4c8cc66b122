"""The base of every settings table, and the types that several of them share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


class Table(BaseModel):
    """A settings table: unknown keys are errors, keys are written with hyphens, values never change.

    Validators are built when the root table needs them: built one by one they would cost each start 25 ms.
    """

    model_config = ConfigDict(
        extra="forbid",
        defer_build=True,
        frozen=True,
        alias_generator=lambda name: name.rstrip("_").replace("_", "-"),
        populate_by_name=True,
    )


def _compiles(pattern: str) -> str:
    import regex

    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"the pattern does not compile: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression in the syntax of the `regex` package."""

Glob = str
"""A path pattern, POSIX, relative to the root: `*` stays inside one folder, `**` spans any number, and a pattern
that names a folder covers everything below it."""

ModulePattern = str
"""A dotted module name that covers itself and everything below; `*` stands for one segment."""
