"""The first candidate that admits a call is chosen, and what became of all others is said, whatever the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.candidates import Candidates, Missing, either, reasons_of_need, reasons_of_place
from runtime.errors import RouteError


@dataclass(frozen=True)
class Machine:
    """A candidate that makes things of one kind, of any kind where it is empty, up to a size."""

    name: str
    kind: str
    largest: int
    platforms: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    kind: str
    size: int
    platform: str = "here"
    dtype: str = "float16"
    missing: Missing = ()


class Machines(Candidates[Machine, Order]):
    def serves(self, spec: Machine, call: Order) -> bool:
        return spec.kind in ("", call.kind)

    def described(self, call: Order) -> str:
        return f"order of {call.size}"

    def reasons(self, spec: Machine, call: Order) -> Iterator[str]:
        if not self.serves(spec, call):
            yield "another kind"
        yield from reasons_of_place(spec, call)
        if call.size > spec.largest:
            yield f"at most {spec.largest}"
        yield from reasons_of_need(spec, call)


def machines(*specs: Machine) -> Machines:
    return Machines(specs, "machine", "shop.machine")


SMALL, LARGE = Machine("small", "bolt", 3), Machine("large", "bolt", 30)
NUTS, ANYTHING = Machine("nuts", "nut", 5), Machine("anything", "", 1000)
SHOP = machines(SMALL, NUTS, LARGE, ANYTHING)
KINDS = st.sampled_from(["bolt", "nut", ""])


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(KINDS, st.integers(0, 9)), min_size=1, max_size=6),
    st.sampled_from(["bolt", "nut"]),
    st.integers(0, 9),
)
def test_the_choice_the_refusals_and_the_verdicts_agree(table: list[tuple[str, int]], kind: str, size: int) -> None:
    shop = machines(*(Machine(f"m{place}", *row) for place, row in enumerate(table)), ANYTHING)
    order = Order(kind, size)
    fits = [spec for spec in shop.specs if spec.kind in ("", kind) and size <= spec.largest]
    before = [spec for spec in shop.specs[: shop.specs.index(fits[0])] if spec.kind in ("", kind)]

    choice, verdicts = shop.select(order), shop.explain(order)

    assert choice.spec is fits[0]
    assert choice.refusals == tuple((spec.name, f"at most {spec.largest}") for spec in before)
    assert [row.spec for row in verdicts] == list(shop.specs)
    assert [row.spec for row in verdicts if row.verdict == "chosen"] == [fits[0]]
    assert [row.spec for row in verdicts if row.verdict == "not needed"] == fits[1:]
    assert all(bool(row.reason) == (row.verdict != "chosen") for row in verdicts)


def test_a_forced_candidate_binds_the_calls_that_it_serves_and_no_other() -> None:
    assert SHOP.select(Order("bolt", 2), "large").spec is LARGE
    assert SHOP.select(Order("nut", 2), "large").spec is NUTS
    assert [row.verdict for row in SHOP.explain(Order("bolt", 2), "large")] == [
        "not needed",
        "refused",
        "chosen",
        "not needed",
    ]


def test_a_forced_candidate_that_cannot_take_its_call_is_an_error_with_the_reason() -> None:
    with pytest.raises(RouteError) as caught:
        SHOP.select(Order("bolt", 7), "small")
    assert str(caught.value) == (
        "shop.machine: 'small' was forced and cannot take this order of 7: at most 3; choose another machine, or 'auto'"
    )


def test_a_call_that_nothing_takes_is_an_error_with_all_reasons() -> None:
    with pytest.raises(RouteError, match="no machine takes this order of 31: small: at most 3; large: at most 30"):
        machines(SMALL, NUTS, LARGE).select(Order("bolt", 31))


@pytest.mark.parametrize(
    ("name", "hint"),
    [("smal", "did you mean 'small'"), ("aut", "did you mean 'auto'"), ("x", "declared: auto, small, nuts")],
)
def test_a_name_that_is_not_declared_is_told_what_is(name: str, hint: str) -> None:
    with pytest.raises(RouteError, match=f"shop.machine: no machine is called '{name}'; {hint}"):
        SHOP.find(name)


def test_place_comes_before_need_and_both_say_what_is_wrong() -> None:
    spec = Machine("m", "", 9, platforms=("sm70", "cuda", "rocm"), dtypes=("float16",), requires=("steam",))
    order = Order("bolt", 1, platform="cpu", dtype="float32", missing=(("coal", "none left"), ("steam", "no boiler")))
    assert list(machines(spec).reasons(spec, order)) == [
        "runs on sm70, cuda or rocm, not on cpu",
        "computes in float16, not in float32",
        "needs steam: no boiler",
    ]


@pytest.mark.parametrize(("values", "text"), [((1,), "1"), ((1, 2), "1 or 2"), ((1, 2, 3), "1, 2 or 3")])
def test_values_are_listed_as_one_would_say_them(values: tuple[int, ...], text: str) -> None:
    assert either(values) == text
