"""A `tokenizer.json` gives what `transformers` makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from runtime.errors import CheckpointError
from runtime.models.tokenizer import load_tokenizer

TEXTS = ["hello world", " a  b\n", "日本 🦙", "<s>x</s>", "", "x <tool> y"]


def byte_level() -> Tokenizer:
    alphabet = {token: number for number, token in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet | {"he": 256, "ll": 257}, merges=[("h", "e"), ("l", "l")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentencepiece() -> Tokenizer:
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "h", "e", "he", "▁he"]
    merges = [("h", "e"), ("▁", "he")]
    vocab = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


def save(folder: Path, tokenizer: Tokenizer, **settings: object) -> Path:
    tokenizer.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("</s>", normalized=False)])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    )
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, **settings}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("kind", [byte_level, sentencepiece])
@pytest.mark.parametrize("text", TEXTS)
def test_ids_and_texts_are_those_of_transformers(tmp_path: Path, kind: object, text: str) -> None:
    folder = save(tmp_path, kind())  # type: ignore[operator]
    oracle = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), clean_up_tokenization_spaces=False)
    oracle.backend_tokenizer.no_truncation()
    mine = load_tokenizer(folder)
    assert mine.encode(text) == oracle.encode(text)
    assert mine.encode(text, add_special=False) == oracle.encode(text, add_special_tokens=False)
    ids = oracle.encode(text, add_special_tokens=False)
    assert mine.decode(ids, skip_special=False) == oracle.decode(ids)
    assert mine.vocab_size == len(oracle)


def test_roles_come_from_the_files_beside_it(tmp_path: Path) -> None:
    folder = save(tmp_path, byte_level())
    (folder / "generation_config.json").write_text('{"eos_token_id": [7, 8]}')
    mine = load_tokenizer(folder / "tokenizer.json")
    assert mine.eos_ids == {7, 8, 259}
    assert mine.bos_id == 258


def test_a_token_of_the_vocabulary_has_its_bytes(tmp_path: Path) -> None:
    mine = load_tokenizer(save(tmp_path, byte_level()))
    assert mine.token_bytes(256) == b"he"
    assert mine.token_bytes(10_000) == b""
    assert mine.token_bytes(-1) == b""


def test_missing_and_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no such file.*model\.tokenizer: .*\.gguf file"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="Download the tokenizer again"):
        load_tokenizer(tmp_path)


def test_another_kind_of_decoder_is_refused(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(CheckpointError, match="decoder WordPiece is not supported"):
        load_tokenizer(save(tmp_path, tokenizer))
