"""What the engine asks of a tokenizer. Implementations belong to the models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TokenStream(Protocol):
    """Turns the tokens of one sequence into text, piece by piece; what it has returned is never taken back."""

    def step(self, token_id: int) -> str:
        """Return the text that this token completed: "" while a character lacks bytes."""
        ...

    def flush(self) -> str:
        """Return what is left at the end of the sequence: bytes that form no character become U+FFFD."""
        ...


class Tokenizer(Protocol):
    """Text to token ids and back.

    Attributes:
        vocab_size: token ids are below it.
        eos_ids: tokens that end an answer.
        bos_id: the token that opens a sequence, if the model has one.
    """

    @property
    def vocab_size(self) -> int: ...

    @property
    def eos_ids(self) -> frozenset[int]: ...

    @property
    def bos_id(self) -> int | None: ...

    def encode(self, text: str, add_special: bool = True) -> list[int]:
        """Return the tokens of `text`, with the model's opening and closing tokens if `add_special`."""
        ...

    def decode(self, ids: Sequence[int], skip_special: bool = True) -> str:
        """Return the text of `ids`, without special tokens if `skip_special`."""
        ...

    def stream(self, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> TokenStream:
        """Start to decode the tokens that will follow `prompt_ids`, whose own text is not returned."""
        ...

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that this token stands for, which need not be whole characters."""
        ...
