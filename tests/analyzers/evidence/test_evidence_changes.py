"""What counts as a change, and which words name it."""

from __future__ import annotations

import pytest

from analyzers.evidence.changes import Change, changes_between
from analyzers.evidence.surface import Subject

ROUTE = Subject("route", "moe/gate/fp16", "app/moe.py", 3, {"stage": "decode"}, table="moe")
FIELD = Subject("setting", "cache.block_size", "app/config.py", 7, {"default": "16"})
KERNEL = Subject("kernel", "app/kernels/decode.cu", "app/kernels/decode.cu", 0)


def test_what_is_as_it_was_is_no_change_wherever_it_stands() -> None:
    assert changes_between([ROUTE, FIELD], [FIELD._replace(line=90), ROUTE._replace(path="elsewhere.py")]) == []


def test_what_is_new_gone_or_different_is_told_in_words() -> None:
    was = [ROUTE, FIELD]
    now = [FIELD._replace(facts={"default": "32"}), KERNEL]

    assert [(change.subject.name, change.words) for change in changes_between(was, now)] == [
        ("moe/gate/fp16", "removed"),
        ("cache.block_size", "default: 16 -> 32"),
        ("app/kernels/decode.cu", "added"),
    ]


def test_a_route_that_gets_other_calls_has_changed_though_it_says_the_same() -> None:
    was = ROUTE._replace(calls=frozenset("ab"))
    [change] = changes_between([was], [ROUTE._replace(calls=frozenset("bcd"))])

    assert change.words == "the static plan gives it 2 calls more and 1 fewer"


def test_two_routes_that_change_places_have_changed_and_one_that_is_put_before_them_changes_neither() -> None:
    first, second = ROUTE._replace(name="moe/a"), ROUTE._replace(name="moe/b", earlier=("moe/a",))
    swapped = [second._replace(earlier=()), first._replace(earlier=("moe/b",))]
    fresh = [ROUTE, first._replace(earlier=(ROUTE.name,)), second._replace(earlier=(ROUTE.name, "moe/a"))]

    assert {change.subject.name for change in changes_between([first, second], swapped)} == {"moe/a", "moe/b"}
    assert [change.subject.name for change in changes_between([first, second], fresh)] == [ROUTE.name]


@pytest.mark.parametrize(
    ("subject", "names", "others"),
    [
        (ROUTE, ["moe/gate/fp16", "gate/fp16"], ["moe", "gate", "moe/gate", "gate/fp1", ""]),
        (FIELD, ["cache.block_size", "cache"], ["block_size", "cache.block", "cach", ""]),
        (KERNEL, ["app/kernels/decode.cu", "app/kernels/", "app"], ["decode.cu", "app/kern", "kernels", ""]),
        (FIELD._replace(sort="variable", name="X_PORT"), ["X_PORT"], ["X", "PORT", "X_PORTS", ""]),
    ],
)
def test_a_subject_is_named_in_full_or_by_what_it_lies_below(
    subject: Subject, names: list[str], others: list[str]
) -> None:
    change = Change(None, subject)

    assert all(change.is_named([name]) for name in names)
    assert not change.is_named(others)
