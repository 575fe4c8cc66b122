"""Everything that is wrong with a table is told, and nothing else: msgspec's own reader is the oracle."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta, ValidationError, convert
from msgspec.inspect import type_info

from analyzers.policy import FAULT, Table
from gates.settings.complaints import complaints

Even = Annotated[str, Meta(extra={FAULT: lambda text: "is of odd length" if len(text) % 2 else ""})]


class Inner(Table):
    word: Annotated[str, Meta(min_length=1)]
    kind: Literal["one", "other"] = "one"
    share: Annotated[int, Meta(gt=0)] | None = None


class Outer(Table):
    list_: Annotated[tuple[Inner, ...], Meta(min_length=1)]
    pair: tuple[tuple[str, str], ...] = ()
    flag: bool = False
    day: datetime.date | None = None
    name: Annotated[str, Meta(pattern="^[a-z]+$")] = "a"
    by_name: dict[str, Inner] | None = None
    any_of: bool | int | str | tuple[int, ...] = 0


scalars = (
    st.booleans()
    | st.integers(-1, 2)
    | st.sampled_from(["", "a", "one", "2027-01-31", "2027-02-30", "20270131", "B"])
    | st.floats()
)
scalars |= st.dates() | st.datetimes()
words = st.sampled_from(["word", "kind", "share", "list", "list_", "pair", "flag", "day", "name", "by-name", "any-of"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=12
)
inner_tables = st.fixed_dictionaries(
    {"word": st.just("a") | scalars}, optional={"kind": st.just("one"), "share": scalars}
)
likely = st.fixed_dictionaries(
    {"list": st.lists(inner_tables, min_size=1, max_size=2)},
    optional={
        "pair": st.lists(st.lists(scalars, min_size=1, max_size=3), max_size=2),
        "flag": scalars,
        "day": scalars,
        "name": scalars,
        "by-name": st.dictionaries(words, inner_tables, max_size=2),
        "any-of": values,
    },
)


@settings(max_examples=1000, derandomize=True, deadline=None)
@given(likely | st.dictionaries(words, values, max_size=4))
def test_a_table_is_complained_about_exactly_when_msgspec_refuses_it(table: dict[str, Any]) -> None:
    found = list(complaints(type_info(Outer), table))
    try:
        convert(table, Outer)
    except ValidationError:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"any-of": 1.5}, "any-of: must be true or false, a whole number, a string or a list, not 1.5"),
        ({"any-of": [1, "x"]}, "any-of.1: must be a whole number, not the string 'x'"),
        ({"pair": [["a", "b", "c"]]}, "pair.0: needs 2 items, but has 3"),
        (
            {"day": datetime.datetime(2027, 1, 31)},
            "day: should be a valid date, such as 2027-01-31 (it is 2027-01-31 00:00:00)",
        ),
        ({"name": datetime.date(2027, 1, 31)}, "name: must be a string, not 2027-01-31"),
        ({"name": "B"}, "name: should match the pattern `^[a-z]+$` (it is 'B')"),
        ({"by-name": {"x": {"word": "a", "share": 0}}}, "by-name.x.share: should be greater than 0 (it is 0)"),
        ({"by-name": []}, "by-name: must be a table, not a list"),
        ({"flag": 1}, "flag: must be true or false, not 1"),
        ({"kind": "one"}, "kind: unknown key; this table has list, pair, flag, day, name, by-name, any-of"),
    ],
)
def test_what_is_said(table: dict[str, Any], said: str) -> None:
    [complaint] = complaints(type_info(Outer), {"list": [{"word": "a"}], **table})
    assert f"{'.'.join(map(str, complaint.key))}: {complaint.message}" == said


def test_a_value_has_a_fault_of_its_own_only_if_it_fits() -> None:
    form = type_info(tuple[Even, ...])
    found = [(complaint.key, complaint.message) for complaint in complaints(form, ["ab", "abc", 3])]
    assert found == [((1,), "is of odd length (it is 'abc')"), ((2,), "must be a string, not 3")]
