"""SentencePiece's BPE, from the scores in a GGUF file.

SentencePiece joins, again and again, the two neighbours that make the token with the highest score, the leftmost first.
It has no list of merges: any two tokens that make a third may be joined. Written out as merges in the order of the
third's score, that is what `tokenizers` does.

Source: `src/bpe_model.cc` of https://github.com/google/sentencepiece
"""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, normalizers
from tokenizers.models import BPE

from runtime.models.tokenizer.gguf_vocabulary import TokenKind, Vocabulary
from runtime.models.tokenizer.pieces import SPACE


def build_sentencepiece(vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer, still without its special tokens. Characters that are no token become bytes, if all bytes are."""
    ids = {token: number for number, token in enumerate(vocabulary.tokens)}
    unknown = vocabulary.token_id("unknown_token_id")
    model = BPE(
        vocab=ids,
        merges=_merges(vocabulary),
        unk_token=None if unknown is None else vocabulary.tokens[unknown],
        fuse_unk=True,
        byte_fallback=TokenKind.BYTE in vocabulary.kinds,
    )
    tokenizer = Tokenizer(model)
    spaces = normalizers.Replace(" ", SPACE)
    prefixed = vocabulary.flag("add_space_prefix", True)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), spaces]) if prefixed else spaces
    joined = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*joined, decoders.Strip(" ", 1, 0)] if prefixed else joined)
    return tokenizer


def _merges(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    scores = vocabulary.items("scores", float)
    if len(scores) != len(vocabulary.tokens):
        vocabulary.fail("scores", f"{len(scores)} scores for {len(vocabulary.tokens)} tokens")
    normal = sorted(vocabulary.ids(TokenKind.NORMAL), key=lambda token: -scores[token])
    tokens = [vocabulary.tokens[token] for token in normal]
    known = frozenset(tokens)
    return [
        (token[:cut], token[cut:])
        for token in tokens
        for cut in range(1, len(token))
        if token[:cut] in known and token[cut:] in known
    ]
