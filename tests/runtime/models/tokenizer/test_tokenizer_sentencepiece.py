"""SentencePiece vocabularies give the tokens that SentencePiece gives."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import SPACE, PlainSentencePiece, sentencepiece

from runtime.formats.gguf import GGUFFile
from runtime.models.tokenizer import ModelTokenizer, tokenizer_from_gguf

PATH = Path("tiny.gguf")
TEXTS = [
    "The quick brown fox jumps over the lazy dog, doesn't it?",
    "def f(x: int) -> str:\n\n\n    return f'{x:>08}'  # <h1>done</h1>\t\n",
    "日本語のテキスト、한국어 텍스트, русский текст, نص عربي, ελληνικά, हिन्दी",
    "👩‍👩‍👧‍👦 🦙🏽 é e\u0301 \u00a0\u3000 \u200d ½²٣ \x07",
    " " * 70 + "x" + "\n" * 40 + "a" * 30 + "=" * 50,
    "",
    " ",
]


def tiny(pieces: list[str], **values: object) -> tuple[ModelTokenizer, PlainSentencePiece]:
    found = sentencepiece(pieces, **{"add_space_prefix": False, **values})
    return tokenizer_from_gguf(found, PATH), PlainSentencePiece(found)


PIECES = ["".join(letters) for length in (2, 3) for letters in permutations(f"abé{SPACE}", length)]
"""No letter twice, so that no token can be made in two overlapping ways: only there may ranks and scores differ."""


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES), unique=True, min_size=8, max_size=30),
    text=st.lists(st.sampled_from([*"abé abé ", "日", "<h>"]), min_size=15, max_size=40).map("".join),
)
def test_any_vocabulary_merges_by_score(pieces: list[str], text: str) -> None:
    mine, plain = tiny([*pieces, "a", "b", "é", SPACE], defined=["<h>", "ab ab"])
    ids = mine.encode(text, add_special=False)
    assert ids == plain.encode(text)
    assert mine.decode(ids) == text


@pytest.mark.real_model
def test_gemma_merges_by_score(gemma3: Path) -> None:
    with GGUFFile.open(gemma3) as file:
        plain = PlainSentencePiece(file.metadata)
        mine = tokenizer_from_gguf(file.metadata, gemma3)
    for text in TEXTS:
        ids = mine.encode(text)
        assert ids == [2, *plain.encode(text)]
        assert mine.decode(ids) == text
    assert mine.eos_ids == {1, 106}
    assert (mine.bos_id, mine.vocab_size) == (2, 262_144)


def test_a_space_is_put_before_a_text_and_taken_away_again() -> None:
    mine, _ = tiny([f"{SPACE}a", SPACE, "a"], add_space_prefix=True)
    ids = mine.encode("a a", add_special=False)
    assert [mine.token_bytes(token) for token in ids] == [b" a", b" a"]
    assert mine.decode(ids) == "a a"
    assert mine.decode(mine.encode(" a")) == " a"


def test_an_answer_keeps_its_first_space() -> None:
    mine, _ = tiny([f"{SPACE}a", SPACE, "a"], add_space_prefix=True)
    first, second = mine.encode("a a", add_special=False)
    assert mine.stream().step(first) == "a"
    assert mine.stream(prompt_ids=[first]).step(second) == " a"
    assert mine.stream(prompt_ids=[first, 1, 1, 1, 1]).step(second) == " a"


def test_unknown_characters_become_bytes_or_the_unknown_token() -> None:
    assert len(tiny(["a"])[0].encode("a日", add_special=False)) == 4
    assert tiny(["a"], with_bytes=False)[0].encode("a日本", add_special=False) == [3, 0]


def test_opening_and_closing_tokens_follow_the_flags() -> None:
    for add_bos, add_eos, expected in ((True, False, [1, 259]), (False, True, [259, 2]), (True, True, [1, 259, 2])):
        mine, _ = tiny(["a"], add_bos_token=add_bos, add_eos_token=add_eos)
        assert mine.encode("a") == expected
        assert mine.encode("a", add_special=False) == [259]


def test_an_opening_token_is_the_rule() -> None:
    assert tiny(["a"])[0].encode("a") == [1, 259]
