"""What one file does with the process environment, as it is cached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Access = Literal["read", "write", "delete", "read+write", "read+delete", "whole", "test-write"]

ANY = "*"
"""Stands in a name for what is not known of it; alone, with the access "whole", for every variable."""


class Use(NamedTuple):
    """One use of one variable, or of the whole environment. Line and column are 1-based."""

    name: str
    access: Access
    line: int
    column: int
    symbol: str
    """Dotted name of the enclosing function or class; empty at module level."""
    discarded: bool = False
    """Nobody takes what it gives: `environ.pop(NAME, None)` is a statement of its own, as `del environ[NAME]` is."""

    @property
    def effect(self) -> str:
        """The access, less a reading that nobody profits from."""
        return self.access.removeprefix("read+") if self.discarded else self.access

    @property
    def reads(self) -> bool:
        return self.effect.startswith("read")

    @property
    def is_dynamic(self) -> bool:
        """Whether the name is known in part only, or not at all."""
        return ANY in self.name and self.access != "whole"


class Mention(NamedTuple):
    """A name of the tree's own that stands in code: as an identifier, or as the whole of a string."""

    name: str
    context: str
    """What stands before it: `envs.` where it is an attribute of a name and `.` where it is one of something else,
    `flag(` where it is a call's first argument."""
    line: int
    column: int


class FileUses(NamedTuple):
    """Everything that a file says of the environment."""

    uses: Sequence[Use] = ()
    mentions: Sequence[Mention] = ()
    wrappers: Sequence[str] = ()
    """Its functions that read the variable that their first argument names."""
    unread: Sequence[int] = ()
    """First lines of statements that may use the environment and that this Python cannot parse."""

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> FileUses:
        if not stored:
            return cls()
        uses, mentions, wrappers, unread = stored
        return cls([Use(*row) for row in uses], [Mention(*row) for row in mentions], wrappers, unread)
