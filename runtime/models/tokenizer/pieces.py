"""The bytes that a token's name in the vocabulary stands for."""

from __future__ import annotations

import re

from tokenizers import pre_tokenizers

SPACE = "\u2581"
"""SentencePiece's mark for a space (LOWER ONE EIGHTH BLOCK)."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> dict[int, str]:
    """{code of a character: the character with the number of the byte that it stands for}, where the two differ.

    Byte-level BPE writes a visible byte as itself, and the others, in order, as the characters from U+0100 on.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    others = [character for character in alphabet if ord(character) > 0xFF]
    missing = [number for number in range(256) if chr(number) not in alphabet]
    return {ord(character): chr(number) for character, number in zip(others, missing, strict=True)}


_BYTES_OF_OTHERS = _byte_alphabet()


def byte_level_piece(token: str) -> bytes:
    """A token of a byte-level vocabulary; one that is not written in its alphabet stands for itself."""
    try:
        return token.translate(_BYTES_OF_OTHERS).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode()


def sentencepiece_piece(token: str) -> bytes:
    """A token of a SentencePiece vocabulary: `▁` is a space."""
    return token.replace(SPACE, " ").encode()


def byte_piece(token: str) -> bytes | None:
    """`<0x0A>` -> the one byte, anything else -> None."""
    match = _BYTE_PIECE.fullmatch(token)
    return bytes([int(match[1], 16)]) if match else None
