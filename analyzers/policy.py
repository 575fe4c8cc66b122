"""The base of every settings table, and the types that several of them share."""

from __future__ import annotations

from pathlib import PureWindowsPath
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

    if not pattern:
        raise ValueError("the pattern must not be empty: it would match everywhere")
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"the pattern does not compile: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression in the syntax of the `regex` package."""


def _stays_inside(glob: str) -> str:
    from analyzers.globs import unclosed_set

    if glob.startswith("/") or PureWindowsPath(glob).drive:
        raise ValueError("the path must be relative to the root")
    if ".." in glob.split("/"):
        raise ValueError("the path must not lead out of the root by `..`")
    if unclosed_set(glob):
        raise ValueError("a `[` opens a set that no `]` closes; `[[]` stands for the character")
    return glob


Glob = Annotated[str, AfterValidator(_stays_inside)]
"""A path pattern, POSIX, relative to the root: `*` stays inside one folder, `**` spans any number, and a pattern
that names a folder covers everything below it."""

ModulePattern = str
"""A dotted module name that covers itself and everything below; `*` stands for one segment."""
