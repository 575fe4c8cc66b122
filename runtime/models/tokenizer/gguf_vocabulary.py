"""The vocabulary in the metadata of a GGUF file, checked.

Source: the `tokenizer.ggml.*` keys of the GGUF specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NoReturn, TypeVar

from runtime.errors import CheckpointError

_T = TypeVar("_T", str, int, float)

CONVERT_AGAIN = "Convert the model again with a current llama.cpp"

_END_IDS = ("eos_token_id", "eot_token_id", "eom_token_id")
_END_TOKENS = frozenset(
    ["<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>"]
)
"""Control tokens that end an answer. Files often declare only one of a model's; llama.cpp goes by names too."""


class TokenKind(Enum):
    """`tokenizer.ggml.token_type`, as SentencePiece numbers them."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by id, and what the file says about them.

    Attributes:
        kinds: one a token.
        values: the metadata below `tokenizer.ggml.`.
    """

    path: Path
    tokens: Sequence[str]
    kinds: Sequence[TokenKind]
    values: Mapping[str, object]

    def fail(self, key: str, problem: str, remedy: str = CONVERT_AGAIN) -> NoReturn:
        """Raise the CheckpointError about one key."""
        raise CheckpointError(f"{self.path}: metadata 'tokenizer.ggml.{key}': {problem}. {remedy}.")

    def ids(self, *kinds: TokenKind) -> list[int]:
        """The tokens of these kinds."""
        wanted = frozenset(kinds)
        return [token for token, kind in enumerate(self.kinds) if kind in wanted]

    def items(self, key: str, kind: type[_T]) -> list[_T]:
        """A list whose items are all of one type."""
        found = self.values.get(key)
        if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
            self.fail(key, f"missing, or no list of {kind.__name__}")
        return found

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        found = self.values.get(key, default)
        return found if isinstance(found, str) else self.fail(key, "not a string")

    def flag(self, key: str, default: bool) -> bool:
        """A boolean."""
        found = self.values.get(key, default)
        return found if isinstance(found, bool) else self.fail(key, "not a boolean")

    def token_id(self, key: str) -> int | None:
        """The id of a token with a role; None if the file names none."""
        found = self.values.get(key)
        if found is None:
            return None
        if not isinstance(found, int) or not 0 <= found < len(self.tokens):
            self.fail(key, f"{str(found)[:40]} is no token of a vocabulary of {len(self.tokens)}")
        return found

    def end_ids(self) -> frozenset[int]:
        """Every token that ends an answer."""
        declared = {self.token_id(key) for key in _END_IDS} - {None}
        by_name = {token for token in self.ids(TokenKind.CONTROL) if self.tokens[token] in _END_TOKENS}
        return frozenset(token for token in declared | by_name if token is not None)


def read_vocabulary(metadata: Mapping[str, object], path: Path) -> Vocabulary:
    """The vocabulary of a file.

    Raises:
        CheckpointError: there is none, or its parts do not fit each other.
    """
    prefix = "tokenizer.ggml."
    values = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    empty = Vocabulary(path, (), (), values)
    tokens = empty.items("tokens", str)
    numbers = empty.items("token_type", int) if "token_type" in values else [1] * len(tokens)
    if not tokens or len(numbers) != len(tokens):
        empty.fail("token_type", f"{len(numbers)} types for {len(tokens)} tokens")
    kinds = {kind.value: kind for kind in TokenKind}
    unknown = set(numbers) - kinds.keys()
    if unknown:
        empty.fail("token_type", f"type {min(unknown)} does not exist")
    return Vocabulary(path, tokens, [kinds[number] for number in numbers], values)
