from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import examples, texts
from rich.cells import cell_len

from reports.code_frame import code_frame

FIVE = ["one", "two", "import three.four", "", "five"]


def shown(lines: list[str], line: int, columns: list[int], width: int = 80) -> list[tuple[int | None, str]]:
    return [(row.number, row.text) for row in code_frame(lines, line, columns, width)]


def caret_row(lines: list[str], line: int, columns: list[int], width: int = 80) -> tuple[str, str]:
    rows = shown(lines, line, columns, width)
    position = next(i for i, (number, _) in enumerate(rows) if number is None)
    return rows[position - 1][1], rows[position][1]


def test_two_lines_of_context_and_carets_under_the_whole_name() -> None:
    assert shown(FIVE, 3, [8]) == [
        (1, "one"),
        (2, "two"),
        (3, "import three.four"),
        (None, "       ^^^^^^^^^^"),
        (4, ""),
        (5, "five"),
    ]


def test_blank_lines_at_the_edges_are_left_out() -> None:
    assert shown(["", "a", ""], 2, [1]) == [(2, "a"), (None, "^")]


def test_a_column_that_starts_no_name_has_one_caret() -> None:
    assert caret_row(["see [here](x.md)"], 1, [5]) == ("see [here](x.md)", "    ^")


def test_several_columns_share_one_caret_line() -> None:
    assert caret_row(["import a, b"], 1, [8, 11]) == ("import a, b", "       ^  ^")


def test_no_column_no_carets() -> None:
    assert shown(["a"], 1, [0]) == [(1, "a")]


@pytest.mark.parametrize("line", [0, -1, 2, 99])
def test_a_line_that_the_file_lacks_gives_no_frame(line: int) -> None:
    assert shown(["a"], line, [1]) == []


def test_a_column_beyond_the_line_is_not_marked() -> None:
    assert shown(["abc"], 1, [9]) == [(1, "abc")]


def test_tabs_stop_every_four_cells() -> None:
    assert caret_row(["\tab\tc"], 1, [5]) == ("    ab  c", "        ^")


def test_wide_characters_take_two_cells() -> None:
    assert caret_row(["漢字 = x"], 1, [6]) == ("漢字 = x", "       ^")
    assert caret_row(["漢字 = x"], 1, [1]) == ("漢字 = x", "^^^^")


def test_escapes_of_control_characters_count_as_they_are_shown() -> None:
    assert caret_row(["\x1b[31m!"], 1, [6]) == (r"\x1b[31m!", "        ^")


@pytest.mark.parametrize("column", [1, 60, 2_500_000, 5_000_000])
def test_a_line_of_megabytes_is_cropped_around_its_column(column: int) -> None:
    line = "-" * (column - 1) + "X" + "-" * (5_000_000 - column)
    text, carets = caret_row([line], 1, [column])
    assert cell_len(text) <= 80
    assert text[carets.index("^")] == "X"
    assert text.startswith("…") == (column > 61)
    assert text.endswith("…") == (column < 5_000_000)


def test_context_is_cropped_like_the_line_itself() -> None:
    above, line = "a" * 300, "b" * 300
    rows = shown([above, line], 2, [200], 40)
    assert [len(text) for number, text in rows if number] == [40, 40]


@examples
@given(
    lines=st.lists(texts | st.text("a\t漢\u0301", min_size=50), min_size=1, max_size=6),
    line=st.integers(1, 6),
    columns=st.lists(st.integers(0, 120), min_size=1, max_size=3),
    width=st.integers(20, 60),
)
def test_a_frame_is_printable_and_keeps_within_its_width(
    lines: list[str], line: int, columns: list[int], width: int
) -> None:
    for row in code_frame(lines, line, columns, width):
        assert row.text.isprintable()
        assert cell_len(row.text) <= width


@examples
@given(
    before=st.text("a\t漢 é\x1b", max_size=90),
    after=st.text("a\t漢 é\x1b", max_size=90),
    width=st.integers(20, 60),
)
def test_the_caret_stands_under_its_character(before: str, after: str, width: int) -> None:
    text, carets = caret_row([before + "⁂" + after], 1, [len(before) + 1], width)
    assert cell_len(text[: text.index("⁂")]) == carets.index("^")
