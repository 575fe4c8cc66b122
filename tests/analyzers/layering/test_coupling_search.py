"""What is found by looking only where a match can begin is what the plain expression finds."""

from __future__ import annotations

import sys

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from analyzers.layering.coupling_search import Search, openings_of

PIECES = ["gpt", "oss", "kiss", "GPT_", "|", "?", "*", "+", ".", "-", r"\.", r"\b", r"\w", r"\d", "abab"]
TEXTS = ["gpt", "oss", "oß", "KISS", "\u212ai\u017fs", "k\u0130ss", "_", "-", ".", " ", "\n", "7", "abab", "ab", "é"]
ANY_CHARACTER = "".join(chr(code) for code in range(sys.maxunicode + 1))


def begins_with_words(pattern: str) -> bool:
    return openings_of(pattern) is not None


@given(
    st.sampled_from(["{}", "(?i){}", "(?:{})", r"(?i)\b(?:{})\b", r"\b{}"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
    st.lists(st.sampled_from(TEXTS), max_size=12).map("".join),
)
def test_the_spans_are_those_of_finditer(frame: str, choices: str, text: str) -> None:
    pattern = frame.format(choices)
    try:
        plain = regex.compile(pattern)
    except regex.error:
        return
    assert list(Search(pattern, text).spans(text)) == [match.span() for match in plain.finditer(text)]


@pytest.mark.parametrize("letter", "aikrsz")
def test_case_is_ignored_for_every_character(letter: str) -> None:
    pattern = f"(?i){letter * 3}"
    text = " ".join(character * 3 for character in ANY_CHARACTER)
    assert begins_with_words(pattern)
    assert list(Search(pattern, text).spans(text)) == [m.span() for m in regex.finditer(pattern, text)]


@pytest.mark.parametrize("pattern", [r"(?i)qwen|gpt_?oss", r"\b(?:environ|getenv)\b", r"os\.environ|getenv\w*"])
def test_a_choice_between_words_is_recognised(pattern: str) -> None:
    assert begins_with_words(pattern)


@pytest.mark.parametrize(
    "pattern", ["gpt|", "x?gpt", "gp?t", "gpt{0}", "(gpt)?", "(?:gpt)?", "[gpt]gpt", "^gpt", "gp|t"]
)
def test_anything_else_is_left_to_the_expression(pattern: str) -> None:
    assert not begins_with_words(pattern)


def test_a_text_without_the_words_is_hopeless() -> None:
    assert Search("(?i)qwen|gpt", "Gemma").is_hopeless()
    assert not Search("(?i)qwen|gpt", "# GPT").is_hopeless()
