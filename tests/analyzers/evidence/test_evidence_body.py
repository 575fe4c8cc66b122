"""A description's section `Evidence`: what is read of it, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.evidence.body import COLUMNS, Cell, read_body

HEAD = f"## Evidence\n\n| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|\n"
ROW = "| `a/b` | fp16 | rows 1 | b, else c | static plan | none | not run |\n"


def texts(row: tuple[Cell, ...]) -> list[str]:
    return [cell.text for cell in row]


def flaws(text: str) -> list[tuple[int, str]]:
    return [(flaw.line, flaw.message) for flaw in read_body(text).flaws]


def test_a_row_is_read_by_column_with_the_place_of_each_cell() -> None:
    body = read_body(HEAD + ROW)

    assert body.flaws == ()
    (row,) = body.rows
    assert texts(row) == ["a/b", "fp16", "rows 1", "b, else c", "static plan", "none", "not run"]
    assert row.path.names == ("a/b",)
    assert (row.conditions.line, row.conditions.column) == (5, ROW.index("rows") + 1)


def test_lines_may_end_as_github_sends_them() -> None:
    text = HEAD + ROW

    assert read_body(text.replace("\n", "\r\n")) == read_body(text) == read_body("\ufeff" + text)


@pytest.mark.parametrize("end", ["", "\n", "\n\nMore.\n", "\n## Checks\n"])
@pytest.mark.parametrize("row", [ROW.strip(), ROW.strip().strip("|")])
def test_the_last_row_is_read_whatever_follows_it(row: str, end: str) -> None:
    body = read_body(HEAD + row + end)

    assert body.flaws == ()
    assert texts(body.rows[0])[-1] == "not run"


def test_comments_do_not_count_and_a_pipe_may_be_escaped() -> None:
    body = read_body(HEAD + r"| `a\|b` | x <!-- y --> | **1** | 2 | 3 | 4 | <!-- none --> |" + "\n")

    assert texts(body.rows[0]) == ["a|b", "x", "1", "2", "3", "4", ""]


def test_the_section_ends_at_the_next_heading_of_its_level_and_holds_those_below() -> None:
    assert len(read_body(HEAD.replace("\n\n", "\n\n### Routes\n\n", 1) + ROW).rows) == 1
    assert "neither N/A" in flaws("## Evidence\n\n" + HEAD.replace("Evidence\n", "Other\n", 1) + ROW)[0][1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("N/A: only prose", "only prose"), ("n/a \u2014 prose\nin two lines", "prose in two lines"), ("N/A", "")],
)
def test_not_applicable_is_read_with_its_reason(text: str, reason: str) -> None:
    body = read_body(f"## Evidence\n\n{text}\n")

    assert body.flaws == ()
    assert body.not_applicable is not None
    assert body.not_applicable.text == reason


def test_a_word_that_begins_like_it_is_none() -> None:
    assert read_body("## Evidence\n\nN/Alpha tested this.\n").not_applicable is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 0, "no section `Evidence`"),
        ("```\n## Evidence\n```\n", 0, "no section `Evidence`"),
        ("# Evidence\n\nTested.\n", 1, "neither N/A nor a table"),
        (f"<!--\n{HEAD}{ROW}-->\n", 0, "no section"),
        (HEAD, 3, "no row"),
        (HEAD.replace("Gaps", "Notes") + ROW, 3, "Artifact, Notes, and those"),
        (HEAD + "| a | b |\n" + ROW, 5, "has 2 cells"),
        (HEAD + ROW + ROW.replace("\n", " more |\n"), 6, "more cells than"),
        (HEAD + ROW + "\nN/A: prose\n", 7, "keep one"),
        (
            HEAD + ROW + "\n## Checks\n\n## Evidence\n\nN/A: no\n",
            9,
            "second section `Evidence`; the first begins on line 1",
        ),
        (HEAD + ROW + "\n### evidence\n", 7, "second section"),
    ],
)
def test_what_cannot_be_read_is_said_once_with_its_line(text: str, line: int, message: str) -> None:
    [(found, said)] = flaws(text)

    assert found == line
    assert message in said


def test_further_tables_may_stand_beside_that_of_the_evidence() -> None:
    other = "\n| ms | run |\n| --- | --- |\n| 1 | 2 |\n\n"

    assert len(read_body(HEAD + ROW + other).rows) == 1
    assert len(read_body(HEAD.replace("\n\n", other, 1) + ROW).rows) == 1


@given(st.text(alphabet="|`\\-# \n\rEvidence\u00e9\U0001f600<!->N/A", max_size=200))
def test_any_text_is_read_and_says_a_row_a_reason_or_what_is_wrong(text: str) -> None:
    body = read_body(HEAD + text)

    assert body.rows or body.not_applicable or body.flaws
    assert all(len(row) == len(COLUMNS) for row in body.rows)


WORDS = st.text(st.characters(blacklist_categories=["C", "Z"], blacklist_characters="|`\\"), min_size=1)


@given(st.lists(WORDS, min_size=len(COLUMNS), max_size=len(COLUMNS)))
def test_code_spans_are_read_as_they_were_written(words: list[str]) -> None:
    body = read_body(f"{HEAD}| {' | '.join(f'`{word}`' for word in words)} |\n")

    assert [cell.names for cell in body.rows[0]] == [(word,) for word in words]


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("fast", ("fast",)),
        ("`fast`, slow; **a**,", ("fast", "slow", "a")),
        ("`a b`, c", ("a b", "c")),
        ("", ()),
        ("everything except fast, slow, a, c", ()),
        ("`fast`, all but `slow`", ()),
        ("`fast` and 3 more", ()),
        ("a change of fast", ()),
    ],
)
def test_a_cell_lists_names_or_it_is_prose_and_lists_none(cell: str, names: tuple[str, ...]) -> None:
    body = read_body(f"{HEAD}| {cell} | 1 | 2 | 3 | 4 | 5 | 6 |\n")

    assert body.rows[0].path.names == names
