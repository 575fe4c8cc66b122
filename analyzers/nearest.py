"""What a name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like a mistaken one; empty where none is close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(known), n=1)), "")
