"""A tokenizer that was saved is read back as the same, here and by `transformers`, whatever it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast
from vocabularies import SPACE, byte_level, sentencepiece

from runtime.models.tokenizer import ModelTokenizer, load_tokenizer, tokenizer_from_gguf

TEXTS = ["the theme", "  a  b\n", "日本 🦙", "<s>the</s>", "", "x <tool> y"]
PIECES = [SPACE, *"abehmtxy", "th", "the", f"{SPACE}the"]
MADE = {
    "byte-level": byte_level(["t h", "th e"], ["<s>", "</s>"], pre="gpt-2", bos_token_id=258, eos_token_id=259),
    "byte-level, framed": byte_level(
        ["t h", "th e"],
        ["<s>", "</s>"],
        pre="llama-bpe",
        bos_token_id=258,
        eos_token_id=259,
        add_bos_token=True,
        add_eos_token=True,
    ),
    "SentencePiece": sentencepiece(PIECES, ["<tool>"]),
    "SentencePiece without a space before": sentencepiece(PIECES, ["<tool>"], add_space_prefix=False),
}


@pytest.fixture(params=MADE)
def made(request: pytest.FixtureRequest) -> ModelTokenizer:
    return tokenizer_from_gguf(MADE[request.param], Path("tiny.gguf"))


def test_what_is_read_back_splits_and_joins_as_before(made: ModelTokenizer, tmp_path: Path) -> None:
    made.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert (again.vocab_size, again.eos_ids) == (made.vocab_size, made.eos_ids)
    for text in TEXTS:
        for special in (True, False):
            ids = made.encode(text, add_special=special)
            assert again.encode(text, add_special=special) == ids
            assert again.decode(ids) == made.decode(ids)


def test_transformers_reads_it_as_this_runtime_does(made: ModelTokenizer, tmp_path: Path) -> None:
    made.save(tmp_path)
    theirs = PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), clean_up_tokenization_spaces=False
    )
    for text in TEXTS:
        ids = made.encode(text)
        assert theirs.encode(text) == ids
        assert theirs.decode(ids) == made.decode(ids, skip_special=False)


def test_saving_changes_nothing_in_what_is_saved(made: ModelTokenizer, tmp_path: Path) -> None:
    before = [made.encode(text) for text in TEXTS]
    made.save(tmp_path)
    assert [made.encode(text) for text in TEXTS] == before
