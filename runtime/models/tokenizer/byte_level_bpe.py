"""Byte-level BPE (GPT-2's kind), from the merges in a GGUF file.

A text is first split by patterns, which differ from model to model; a file names its own in `tokenizer.ggml.pre`.

Source of the names and patterns: `llama_vocab::impl::load` and `llm_tokenizer_bpe` in llama.cpp's `llama-vocab.cpp`,
and the `tokenizer.json` of the models.
"""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from runtime.models.tokenizer.gguf_vocabulary import Vocabulary


@dataclass(frozen=True)
class Splitting:
    """How a family prepares a text for merging.

    Attributes:
        patterns: applied one after the other; matches and what lies between them are kept apart.
        ignore_merges: a word that is a token as a whole is that token, whatever the merges say.
        nfc: the text is put into Unicode's normal form C first.
        add_bos: what holds where the file does not say.
    """

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    nfc: bool = False
    add_bos: bool = False


_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = Splitting((_CL100K.replace("DIGITS", "{1,3}"),), ignore_merges=True, add_bos=True)
_QWEN2 = Splitting((_CL100K.replace("DIGITS", ""),), nfc=True)

SPLITTINGS = {
    "default": Splitting((r"[\p{P}\$\+<=>\^~\|]+", _GPT2.removesuffix(r"|\s+"), r"\p{N}+", r"[0-9][0-9][0-9]")),
    "gpt-2": Splitting((_GPT2,)),
    "smollm": Splitting((r"\p{N}", _GPT2)),
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
}


def splitting_of(vocabulary: Vocabulary) -> Splitting:
    """The splitting that the file names.

    Raises:
        CheckpointError: one that is not known here: a guess would give other tokens than the model was trained on.
    """
    name = vocabulary.text("pre", "default")
    if name not in SPLITTINGS:
        known = ", ".join(sorted(SPLITTINGS))
        vocabulary.fail("pre", f"{name[:80]!r} is not supported", f"Use a model with one of: {known}")
    return SPLITTINGS[name]


def build_byte_level(vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer, still without its special tokens."""
    splitting = splitting_of(vocabulary)
    ids = {token: number for number, token in enumerate(vocabulary.tokens)}
    merges = [_pair(vocabulary, merge, ids) for merge in vocabulary.items("merges", str)]
    tokenizer = Tokenizer(BPE(vocab=ids, merges=merges, ignore_merges=splitting.ignore_merges))
    if splitting.nfc:
        tokenizer.normalizer = normalizers.NFC()
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in splitting.patterns]
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _pair(vocabulary: Vocabulary, merge: str, ids: dict[str, int]) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    if left not in ids or right not in ids or left + right not in ids:
        vocabulary.fail("merges", f"{merge[:80]!r} does not join two tokens into a third")
    return left, right
