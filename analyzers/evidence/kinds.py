"""The three kinds of evidence, which are never mixed."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The value is what an artifact calls itself."""

    PLAN = "static-plan"
    """What the declarations say."""
    OBSERVED = "observed-dispatch"
    """What was seen to run."""
    MEASURED = "measured-performance"
    """A number, with its machine."""

    @property
    def words(self) -> str:
        """What a row calls it."""
        return self.value.replace("-", " ")


def kind_of(words: str) -> Kind | None:
    """The kind that a row names, in any case, with blanks or hyphens; None where it names none."""
    name = "-".join(words.casefold().replace("-", " ").split())
    return next((kind for kind in Kind if kind == name), None)
