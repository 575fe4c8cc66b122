"""The base of every settings table, and the types that several of them share."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import Annotated, Self, dataclass_transform

from msgspec import Meta, Struct, field
from msgspec.structs import replace


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Table(Struct, frozen=True, forbid_unknown_fields=True, rename=lambda name: name.rstrip("_").replace("_", "-")):
    """A settings table: unknown keys are errors, keys are written with hyphens, values never change."""


class Misfit(Struct, frozen=True):
    """One setting that reads well and cannot be meant."""

    key: tuple[str | int, ...]
    """Below the root table: `("routes", "tables", 0, "record")`."""
    message: str
    nearest: str = ""
    """What was probably meant; empty where nothing is near."""

    def below(self, key: tuple[str | int, ...]) -> Self:
        """The same of a table that stands at a key."""
        return replace(self, key=(*key, *self.key))


def _uncompilable(pattern: str) -> str:
    import regex

    if not pattern:
        return "the pattern must not be empty: it would match everywhere"
    try:
        regex.compile(pattern)
    except regex.error as error:
        return f"the pattern does not compile: {error}"
    return ""


def _outside(glob: str) -> str:
    from analyzers.globs import unclosed_set

    if glob.startswith("/") or PureWindowsPath(glob).drive:
        return "the path must be relative to the root"
    if ".." in glob.split("/"):
        return "the path must not lead out of the root by `..`"
    if unclosed_set(glob):
        return "a `[` opens a set that no `]` closes; `[[]` stands for the character"
    return ""


FAULT = "fault"
"""Key of a type's `extra`: a function that says what is wrong with a value of it; nothing, where it is empty."""

Text = Annotated[str, Meta(min_length=1)]

Pattern = Annotated[str, Meta(extra={FAULT: _uncompilable})]
"""A regular expression in the syntax of the `regex` package."""

Glob = Annotated[str, Meta(extra={FAULT: _outside})]
"""A path pattern, POSIX, relative to the root: `*` stays inside one folder, `**` spans any number, and a pattern
that names a folder covers everything below it."""

ModulePattern = str
"""A dotted module name that covers itself and everything below; `*` stands for one segment."""
