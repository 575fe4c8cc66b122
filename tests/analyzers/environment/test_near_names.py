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
        ("APP_PROT", ""),
        ("APP_OTHER", ""),
        ("APP_USE_AR", ""),
        ("APP_MODE_V3", ""),
    ],
)
def test_one_edit_is_near(name: str, near: str) -> None:
    assert NearNames(["APP_PORT", "APP_USE_AG", "APP_MODE_V2"]).near(name) == near


@given(st.text("ABC", min_size=4, max_size=8), st.integers(0, 7), st.sampled_from("XYZ"))
def test_every_inserted_letter_is_found(name: str, at: int, letter: str) -> None:
    assert NearNames([name]).near(name[:at] + letter + name[at:]) == name
