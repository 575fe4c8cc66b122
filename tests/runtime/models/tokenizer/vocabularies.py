"""GGUF metadata of small tokenizers, and a plain implementation of SentencePiece's BPE to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tokenizers import pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"


def metadata(**values: object) -> dict[str, object]:
    return {f"tokenizer.ggml.{key}": value for key, value in values.items()}


def byte_level(merges: Sequence[str] = (), special: Sequence[str] = (), **values: object) -> dict[str, object]:
    """All bytes, what the merges make, and control tokens, in this order."""
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in merges), *special]
    kinds = [NORMAL] * (len(tokens) - len(special)) + [CONTROL] * len(special)
    return metadata(model="gpt2", tokens=tokens, token_type=kinds, merges=list(merges), **values)


def sentencepiece(
    pieces: Sequence[str], defined: Sequence[str] = (), *, with_bytes: bool = True, **values: object
) -> dict[str, object]:
    """Control tokens, user-defined ones, all bytes, then pieces, each with a lower score than the one before."""
    fallback = [f"<0x{byte:02X}>" for byte in range(256)] if with_bytes else []
    tokens = ["<unk>", "<s>", "</s>", *defined, *fallback, *pieces]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[USER_DEFINED] * len(defined), *[BYTE] * len(fallback)]
    scores = [0.0] * len(kinds) + [-float(rank) for rank in range(len(pieces))]
    roles = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    return metadata(
        model="llama", tokens=tokens, token_type=kinds + [NORMAL] * len(pieces), scores=scores, **{**roles, **values}
    )


class PlainSentencePiece:
    """BPE by scores, as the paper has it: look at all neighbours, join the best two, begin again."""

    def __init__(self, values: Mapping[str, object]) -> None:
        tokens: list[str] = values["tokenizer.ggml.tokens"]  # type: ignore[assignment]
        kinds: list[int] = values["tokenizer.ggml.token_type"]  # type: ignore[assignment]
        scores: list[float] = values["tokenizer.ggml.scores"]  # type: ignore[assignment]
        self.ids = {token: number for number, token in enumerate(tokens)}
        self.scores = {token: scores[i] for i, token in enumerate(tokens) if kinds[i] == NORMAL}
        self.defined = sorted((t for i, t in enumerate(tokens) if kinds[i] == USER_DEFINED), key=len, reverse=True)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        plain = ""
        while text:
            found = next((token for token in self.defined if text.startswith(token)), None)
            if found is None:
                plain, text = plain + text[0], text[1:]
                continue
            ids += [*self._merge(plain), self.ids[found]]
            plain, text = "", text[len(found) :]
        return ids + self._merge(plain)

    def _merge(self, text: str) -> list[int]:
        symbols = list(text.replace(" ", SPACE))
        while True:
            joined = [left + right for left, right in pairwise(symbols)]
            known = [(-self.scores[token], at) for at, token in enumerate(joined) if token in self.scores]
            if not known:
                return [number for symbol in symbols for number in self._ids(symbol)]
            _, at = min(known)
            symbols[at : at + 2] = [joined[at]]

    def _ids(self, symbol: str) -> list[int]:
        if symbol in self.scores:
            return [self.ids[symbol]]
        return [self.ids[f"<0x{byte:02X}>"] for byte in symbol.encode()]
