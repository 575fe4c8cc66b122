"""What conditions on a route's fields let pass, and when one route takes all that another one takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.declarations.values import Place, Record
from analyzers.routes.admission import admits, covers, limits
from analyzers.routes.policy import Condition
from analyzers.routes.tables import Route

NUMBERS = range(25)


def route(**fields: Any) -> Route:
    return Route("r", fields, Place("m.py", 1, 1), "", False)


def condition(test: Any, **more: Any) -> Condition:
    return Condition(field="f", test=test, **more)


@pytest.mark.parametrize(
    ("test", "value", "asked", "passes"),
    [
        ("one-of", (), "a", True),
        ("one-of", None, "a", True),
        ("one-of", ("a", "b"), "b", True),
        ("one-of", ("a", "b"), "c", False),
        ("one-of", frozenset(("a",)), "a", True),
        ("one-of", "a", "a", True),
        ("one-of", "a", "b", False),
        ("one-of", (64, 128), 128, True),
        ("one-of", (Record("R", (("name", "fp16"),)),), "fp16", True),
        ("one-of", ("a", "b"), ("a", "b"), True),
        ("multiple-of", 16, 32, True),
        ("multiple-of", 16, 40, False),
        ("multiple-of", 16, (16, 17), False),
        ("multiple-of", 1, 7, True),
        ("multiple-of", None, 7, True),
        ("multiple-of", 0, 7, False),
        ("multiple-of", "x", 7, False),
        ("at-most", 16, (1, 16), True),
        ("at-most", 16, 17, False),
        ("at-most", None, 17, True),
        ("at-least", 16, 16, True),
        ("at-least", 16, 15, False),
        ("supports", True, True, True),
        ("supports", False, True, False),
        ("supports", False, False, True),
        ("supports", None, True, False),
        ("required", True, None, True),
        ("required", False, None, False),
        ("required", None, None, False),
    ],
)
def test_admission(test: str, value: object, asked: Any, passes: bool) -> None:
    cell = {} if asked is None else {"f": asked}

    assert admits(condition(test), route(f=value), cell) is passes


def test_a_wildcard_takes_everything() -> None:
    assert admits(condition("one-of", wildcard="any"), route(f="any"), {"f": "decode"})
    assert not [*limits(route(f="any"), [condition("one-of", wildcard="any")], {})]


def test_an_axis_that_the_call_says_nothing_of_is_no_obstacle() -> None:
    assert admits(condition("one-of", axis="platform"), route(f=("a",)), {"f": "b"})


LIMITS = {
    "one-of": st.none() | st.frozensets(st.sampled_from(NUMBERS), max_size=3),
    "multiple-of": st.none() | st.sampled_from((1, 2, 3, 4, 6, 8)),
    "at-most": st.none() | st.sampled_from((1, 4, 16)),
    "at-least": st.none() | st.sampled_from((0, 4, 16)),
    "supports": st.none() | st.booleans(),
}


@given(st.data())
def test_a_route_that_covers_another_one_takes_every_call_that_it_takes(data: st.DataObject) -> None:
    test = data.draw(st.sampled_from(sorted(LIMITS)))
    wide, narrow = (route(f=data.draw(LIMITS[test])) for _ in range(2))
    checked = condition(test)
    cells = [{"f": number} for number in (NUMBERS if test != "supports" else (False, True))]
    taken = [[admits(checked, candidate, cell) for cell in cells] for candidate in (wide, narrow)]

    if covers(wide, narrow, [checked], {}):
        assert all(first or not second for first, second in zip(*taken, strict=True))
    if not [*limits(wide, [checked], {})]:
        assert all(taken[0])


def test_what_is_not_built_covers_nothing_and_is_covered_as_if_it_were() -> None:
    checked = [condition("required")]

    assert covers(route(f=True), route(f=False), checked, {})
    assert not covers(route(f=False), route(f=True), checked, {})


def test_a_route_that_lists_all_there_is_takes_all_that_there_is() -> None:
    checked, declared = [condition("one-of")], {"f": frozenset(("a", "b"))}
    everything, most, unlimited = route(f=("a", "b")), route(f=("a",)), route(f=())

    assert not [*limits(everything, checked, declared)]
    assert covers(everything, unlimited, checked, declared)
    assert [*limits(most, checked, declared)] == checked
    assert not covers(most, unlimited, checked, declared)
