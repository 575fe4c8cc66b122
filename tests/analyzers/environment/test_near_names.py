from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.environment.near import NearNames


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("APP_PORTS", "APP_PORT"),
        ("APP_PRT", "APP_PORT"),
        ("APP_PORR", "APP_PORT"),
        ("APPP_PORT", "APP_PORT"),
        ("APP_PROT", "APP_PORT"),
        ("AP_PORT", "APP_PORT"),
        ("APP_USE_AGG", "APP_USE_AG"),
        ("APP_USE_A", "APP_USE_AG"),
        ("APP_USE_GA", "APP_USE_AG"),
        ("PAP_USE_AG", "APP_USE_AG"),
        ("APP_PTRO", ""),
        ("APP_OTHER", ""),
        ("APP_USE_AR", ""),
        ("APP_MODE_V3", ""),
        ("APP_MODE_V22", ""),
        ("APP_MODE2_V2", ""),
        ("APP_PORT", ""),
    ],
)
def test_one_edit_is_near(name: str, near: str) -> None:
    assert NearNames(["APP_PORT", "APP_USE_AG", "APP_MODE_V2"]).near(name) == near


LETTERS = st.text("ABCD", min_size=4, max_size=9)


@given(LETTERS, st.integers(0, 9), st.sampled_from("XYZ"))
def test_every_inserted_letter_is_found(name: str, at: int, letter: str) -> None:
    assert NearNames([name]).near(name[:at] + letter + name[at:]) == name


@given(LETTERS, st.integers(0, 8), st.sampled_from("XYZ"))
def test_every_other_letter_is_found(name: str, at: int, letter: str) -> None:
    assert NearNames([name]).near(name[:at] + letter + name[at + 1 :]) == name


@given(LETTERS, st.integers(0, 8))
def test_every_missing_letter_is_found(name: str, at: int) -> None:
    at %= len(name)
    assert NearNames([name]).near(name[:at] + name[at + 1 :]) == name


@given(st.permutations("ABCDEFGHI"), st.integers(4, 9), st.integers(0, 7))
def test_every_pair_that_changed_places_is_found(letters: list[str], length: int, at: int) -> None:
    name = "".join(letters[:length])
    at %= length - 1
    assert NearNames([name]).near(name[:at] + name[at + 1] + name[at] + name[at + 2 :]) == name
