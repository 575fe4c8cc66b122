"""A tokenizer built from the vocabulary inside a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tokenizers import AddedToken, Tokenizer

from runtime.models.tokenizer.byte_level_bpe import build_byte_level, splitting_of
from runtime.models.tokenizer.gguf_vocabulary import TokenKind, Vocabulary, read_vocabulary
from runtime.models.tokenizer.model_tokenizer import ModelTokenizer
from runtime.models.tokenizer.pieces import byte_level_piece, byte_piece, sentencepiece_piece
from runtime.models.tokenizer.sentencepiece_bpe import build_sentencepiece

_SPECIAL = (TokenKind.CONTROL, TokenKind.UNKNOWN)


def tokenizer_from_gguf(metadata: Mapping[str, object], path: Path) -> ModelTokenizer:
    """The tokenizer that a file's metadata describe: byte-level BPE ("gpt2") or SentencePiece BPE ("llama").

    Args:
        path: named in errors.

    Raises:
        CheckpointError: no vocabulary, a damaged one, or a kind that is not supported.
    """
    vocabulary = read_vocabulary(metadata, path)
    kind = vocabulary.text("model")
    if kind == "gpt2":
        backend = build_byte_level(vocabulary)
        return _assemble(vocabulary, backend, add_bos=splitting_of(vocabulary).add_bos, strip_space=False)
    if kind != "llama":
        vocabulary.fail("model", f"{kind[:80]!r} is not supported", "Use a model with one of: gpt2, llama")
    backend = build_sentencepiece(vocabulary)
    return _assemble(vocabulary, backend, add_bos=True, strip_space=vocabulary.flag("add_space_prefix", True))


def _assemble(vocabulary: Vocabulary, backend: Tokenizer, *, add_bos: bool, strip_space: bool) -> ModelTokenizer:
    special = vocabulary.ids(*_SPECIAL)
    names = vocabulary.tokens
    backend.add_special_tokens([AddedToken(names[token], normalized=False, special=True) for token in special])
    defined = vocabulary.ids(TokenKind.USER_DEFINED)
    backend.add_tokens([AddedToken(names[token], normalized=False) for token in defined])
    bos, eos = vocabulary.token_id("bos_token_id"), vocabulary.token_id("eos_token_id")
    return ModelTokenizer(
        backend,
        _pieces(vocabulary),
        special=special,
        eos_ids=vocabulary.end_ids(),
        opening=[bos] if bos is not None and vocabulary.flag("add_bos_token", add_bos) else [],
        closing=[eos] if eos is not None and vocabulary.flag("add_eos_token", False) else [],
        bos_id=bos,
        strip_space=strip_space,
    )


def _pieces(vocabulary: Vocabulary) -> list[bytes]:
    normal = byte_level_piece if vocabulary.text("model") == "gpt2" else sentencepiece_piece
    verbatim = (*_SPECIAL, TokenKind.USER_DEFINED)
    return [
        token.encode() if kind in verbatim else (kind == TokenKind.BYTE and byte_piece(token)) or normal(token)
        for token, kind in zip(vocabulary.tokens, vocabulary.kinds, strict=True)
    ]
