"""Byte-level vocabularies give the tokens of the models' own tokenizers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import Qwen2Tokenizer
from transformers.convert_slow_tokenizer import TikTokenConverter
from vocabularies import byte_level

from runtime.errors import CheckpointError, RequestError
from runtime.formats.gguf import GGUFFile
from runtime.models.tokenizer import ModelTokenizer, tokenizer_from_gguf
from runtime.models.tokenizer.byte_level_bpe import SPLITTINGS

PATH = Path("tiny.gguf")
TEXTS = [
    "The quick brown fox jumps over the lazy dog, DOESN'T it? 1234567",
    "def f(x: int) -> str:\n\n\n    return f'{x:>08}'  # done\t\r\n  \n",
    "日本語のテキスト、한국어 텍스트, русский текст, نص عربي, ελληνικά, हिन्दी",
    "👩‍👩‍👧‍👦 🦙🏽 é e\u0301 \u00a0\u3000 \u200d ½²٣  7 \x07",
    " " * 70 + "x" + "\n" * 40,
    "",
]
WORDS = st.lists(st.one_of(st.text(max_size=8), st.sampled_from(TEXTS)), max_size=6).map(" ".join)


@pytest.fixture(scope="module")
def smollm2_metadata(smollm2: Path) -> dict[str, object]:
    with GGUFFile.open(smollm2) as file:
        return dict(file.metadata)


def vocabulary(metadata: dict[str, object]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tokens, merges = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"]
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]  # type: ignore[attr-defined]
    return {token: number for number, token in enumerate(tokens)}, pairs  # type: ignore[arg-type]


@pytest.mark.real_model
def test_smollm2_is_as_published(smollm2_metadata: dict[str, object]) -> None:
    """Its tokenizer.json: digits one by one, then GPT-2's pattern. (transformers' GGUF reader leaves the first out.)"""
    vocab, merges = vocabulary(smollm2_metadata)
    oracle = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    oracle.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    oracle.decoder = decoders.ByteLevel()
    mine = tokenizer_from_gguf(smollm2_metadata, PATH)

    @settings(max_examples=200, derandomize=True, deadline=None)
    @given(WORDS)
    def same(text: str) -> None:
        ids = mine.encode(text)
        assert ids == oracle.encode(text).ids
        assert mine.decode(ids, skip_special=False) == oracle.decode(ids, skip_special_tokens=False)

    same()
    assert mine.encode("<|im_start|>user")[0] == 1
    assert mine.eos_ids == {0, 2}
    assert (mine.bos_id, mine.vocab_size) == (1, 49_152)


@pytest.mark.real_model
def test_qwen2_splits_as_transformers_does(smollm2_metadata: dict[str, object]) -> None:
    vocab, merges = vocabulary(smollm2_metadata)
    oracle = Qwen2Tokenizer(vocab=vocab, merges=merges)
    mine = tokenizer_from_gguf(smollm2_metadata | {"tokenizer.ggml.pre": "qwen2"}, PATH)

    @settings(max_examples=200, derandomize=True, deadline=None)
    @given(WORDS)
    def same(text: str) -> None:
        assert mine.encode(text) == oracle.encode(text, add_special_tokens=False)

    same()


def test_llama3_splits_by_its_own_pattern() -> None:
    assert SPLITTINGS["llama-bpe"].patterns == (TikTokenConverter().pattern,)


@pytest.mark.parametrize(
    ("pre", "expected"),
    [
        ("gpt-2", [b"1234"]),
        ("default", [b"123", b"4"]),
        ("smollm", [b"1", b"2", b"3", b"4"]),
        ("qwen2", [b"1", b"2", b"3", b"4"]),
        ("llama-bpe", [b"123", b"4"]),
    ],
)
def test_numbers_show_how_a_family_splits(pre: str, expected: list[bytes]) -> None:
    mine = tokenizer_from_gguf(byte_level(["1 2", "12 3", "123 4"], pre=pre), PATH)
    assert [mine.token_bytes(token) for token in mine.encode("1234")] == expected


def test_a_whole_word_may_pass_over_the_merges() -> None:
    """llama-bpe takes "abc" at once, though no merges lead there."""
    values = byte_level(["b c", "a bc"])
    values["tokenizer.ggml.merges"] = ["a b"]
    values["tokenizer.ggml.tokens"] += ["ab"]  # type: ignore[operator]
    values["tokenizer.ggml.token_type"] += [1]  # type: ignore[operator]
    assert len(tokenizer_from_gguf(values | {"tokenizer.ggml.pre": "llama-bpe"}, PATH).encode("abc")) == 1
    assert len(tokenizer_from_gguf(values | {"tokenizer.ggml.pre": "gpt-2"}, PATH).encode("abc")) == 2


def test_an_opening_token_is_added_where_the_family_or_the_file_says_so() -> None:
    def opening(**values: object) -> bool:
        mine = tokenizer_from_gguf(byte_level(special=["<s>"], bos_token_id=256, **values), PATH)
        return mine.encode("a")[0] == 256

    assert opening(pre="llama-bpe")
    assert not opening(pre="qwen2")
    assert opening(pre="qwen2", add_bos_token=True)
    assert not opening(pre="llama-bpe", add_bos_token=False)


def tiny() -> ModelTokenizer:
    return tokenizer_from_gguf(byte_level(special=["<|im_end|>", "<pad>"], pre="gpt-2", eos_token_id=257), PATH)


def test_control_tokens_are_found_only_where_that_is_allowed() -> None:
    mine = tiny()
    assert mine.encode("a<|im_end|>")[-1] == 256
    assert len(mine.encode("a<|im_end|>", parse_special=False)) == len("a<|im_end|>")
    assert mine.encode("a<|im_end|>")[-1] == 256


def test_control_tokens_are_left_out_of_text_unless_asked_for() -> None:
    mine = tiny()
    ids = mine.encode("a<|im_end|>b")
    assert mine.decode(ids) == "ab"
    assert mine.decode(ids, skip_special=False) == "a<|im_end|>b"
    assert mine.token_bytes(256) == b"<|im_end|>"


def test_answers_end_at_the_declared_token_and_at_those_known_by_name() -> None:
    assert tiny().eos_ids == {256, 257}


@settings(max_examples=200, derandomize=True, deadline=None)
@given(ids=st.lists(st.integers(0, 259), max_size=40), skip=st.booleans())
def test_a_stream_joins_to_what_decoding_gives(ids: list[int], skip: bool) -> None:
    """Any bytes in any order, and ids beyond the vocabulary, as a padded model can draw them."""
    mine = tiny()
    stream = mine.stream(skip)
    assert "".join([*map(stream.step, ids), stream.flush()]) == mine.decode(ids, skip)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.text(max_size=20))
def test_a_stream_gives_whole_characters(text: str) -> None:
    mine = tiny()
    stream = mine.stream()
    pieces = [stream.step(token) for token in mine.encode(text, parse_special=False)]
    assert [piece for piece in pieces if piece] == list(text)
    assert stream.flush() == ""


def test_a_stream_completes_the_character_that_the_prompt_began() -> None:
    mine = tiny()
    ids = mine.encode("x🦙")
    stream = mine.stream(prompt_ids=ids[:-1])
    assert stream.step(ids[-1]) == "🦙"


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(RequestError, match="surrogate"):
        tiny().encode("a\ud800")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": "bert"}, "'bert' is not supported"),
        ({"model": 3}, "not a string"),
        ({"pre": "chatglm-bpe"}, "'chatglm-bpe' is not supported"),
        ({"tokens": None}, "missing, or no list of str"),
        ({"tokens": [1]}, "missing, or no list of str"),
        ({"token_type": [1]}, "1 types for 256 tokens"),
        ({"token_type": [9] * 256}, "type 9 does not exist"),
        ({"merges": None}, "missing, or no list of str"),
        ({"merges": ["a"]}, "does not join two tokens"),
        ({"merges": ["a b"]}, "does not join two tokens"),
        ({"bos_token_id": 256}, "256 is no token"),
        ({"eos_token_id": -1}, "-1 is no token"),
        ({"add_bos_token": 1}, "not a boolean"),
        ({"model": "llama"}, "'tokenizer.ggml.scores'"),
        ({"model": "llama", "scores": [0.0]}, "1 scores for 256 tokens"),
    ],
)
def test_a_damaged_vocabulary_is_refused(change: dict[str, object], says: str) -> None:
    values = byte_level(bos_token_id=1) | {f"tokenizer.ggml.{key}": value for key, value in change.items()}
    with pytest.raises(CheckpointError, match=says) as caught:
        tokenizer_from_gguf(values, PATH)
    assert str(caught.value).startswith("tiny.gguf: metadata 'tokenizer.ggml.")
