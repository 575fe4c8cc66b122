from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from msgspec.structs import replace
from report_samples import debt, examples, texts

from analyzers.layering.debt import Debt, Row
from reports import debt_markdown, debt_terminal
from reports.debt_wording import TOP, broken_directions, signed, total_sentence


def without_base(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(replace(row, before=None) for row in rows)


def unchanged_debt() -> Debt:
    """The sample without anything to compare with."""
    sample = debt()
    return replace(
        sample,
        total=replace(sample.total, before=None),
        by_layer=without_base(sample.by_layer),
        by_kind=without_base(sample.by_kind),
        by_file=without_base(sample.by_file),
    )


def many_files() -> Debt:
    return replace(debt(), by_file=tuple(Row(f"f{n:03}.py", 300 - n) for n in range(TOP + 7)))


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (Row("all", 1), "1 finding"),
        (Row("all", 1204, 1220), "1,204 findings, 16 fewer than the base"),
        (Row("all", 2, 1), "2 findings, 1 more than the base"),
        (Row("all", 0, 0), "0 findings, as many as the base"),
    ],
)
def test_the_total_and_its_trend(row: Row, sentence: str) -> None:
    assert total_sentence(row) == sentence


@pytest.mark.parametrize(("change", "text"), [(None, ""), (0, "0"), (3, "+3"), (-1200, "-1,200")])
def test_a_change_has_its_sign(change: int | None, text: str) -> None:
    assert signed(change) == text


def test_forbidden_directions_come_largest_first() -> None:
    (matrix,) = debt().matrices
    directions = broken_directions(matrix)
    assert directions[0] == ("engine", "models", 7, 7)
    assert [direction.broken for direction in directions] == [7, 5, 3, 2, 2, 1, 1]


@pytest.mark.parametrize("render", [debt_terminal.render, debt_markdown.render])
def test_without_a_base_there_is_no_change(render: Callable[[Debt], str]) -> None:
    assert "Change" in render(debt())
    assert "Change" not in render(unchanged_debt())


@pytest.mark.parametrize("render", [debt_terminal.render, debt_markdown.render])
def test_a_long_table_is_cut_and_says_so(render: Callable[[Debt], str]) -> None:
    text = render(many_files())
    assert len(re.findall(r"\bf\d{3}\.py\b", text)) == TOP
    assert "and 7 more" in text


@pytest.mark.parametrize("render", [debt_terminal.render, debt_markdown.render])
def test_no_debt_at_all_is_a_headline(render: Callable[[Debt], str]) -> None:
    assert render(Debt(Row("all", 0), (), (), (), ())).strip("# \n") == "Layering debt: 0 findings"


@examples
@given(name=texts)
def test_a_name_cannot_reach_the_terminal(name: str) -> None:
    text = debt_terminal.render(replace(debt(), by_file=(Row(name, 1, 2),)))
    assert text.replace("\n", "").isprintable()


def test_colour_changes_nothing_but_colour() -> None:
    coloured = re.sub(r"\x1b\[[0-9;]*m", "", debt_terminal.render(debt(), colour=True))
    plain = debt_terminal.render(debt())
    assert [line.rstrip() for line in coloured.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_tables_keep_within_the_width(width: int) -> None:
    text = debt_terminal.render(many_files(), width=width)
    assert max(map(len, text.splitlines())) <= width
