"""Text of unknown origin, made safe for a place where some characters have power.

Paths, messages and source lines come from the analysed tree, which nobody here vouches for.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """One line without control, format or surrogate characters: those appear as the escapes that `repr` would use.

    Terminal escape sequences, right-to-left overrides and every kind of line break lose their power.
    """
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in text)


def printable_lines(text: str) -> list[str]:
    """The text's lines, each printable."""
    return [printable(line) for line in text.split("\n")]


def encodable(text: str) -> str:
    r"""The text with unpaired surrogates written as `\udcff`.

    Python gives undecodable bytes of a file name as unpaired surrogates, which strict JSON readers refuse (RFC 8259,
    section 8.2).
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
