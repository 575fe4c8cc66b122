from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from report_samples import examples, texts

from reports.escaping import encodable, printable, printable_lines


@examples
@given(text=texts)
def test_printable_text_has_no_control_format_or_surrogate_character(text: str) -> None:
    assert {unicodedata.category(character) for character in printable(text)}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})


@examples
@given(text=texts)
def test_printable_agrees_with_repr(text: str) -> None:
    assert printable(text) == "".join(repr(c)[1:-1] if c not in "\\'\"" else c for c in text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\tb", r"a\tb"),
        ("\u202eabc", r"\u202eabc"),
        ("name\udcff", r"name\udcff"),
        ("漢字 é", "漢字 é"),
        ("[bold]", "[bold]"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_printable_lines_keep_line_feeds_only() -> None:
    assert printable_lines("a\nb\rc\u2028d") == ["a", r"b\rc\u2028d"]


@examples
@given(text=texts)
def test_encodable_changes_only_what_utf8_cannot_hold(text: str) -> None:
    encodable(text).encode("utf-8")
    kept = "".join(character for character in text if unicodedata.category(character) != "Cs")
    if kept == text:
        assert encodable(text) == text
