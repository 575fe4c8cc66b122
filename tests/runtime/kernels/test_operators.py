"""Which set of operators runs where, and that it is said aloud when a faster one is a package away."""

from __future__ import annotations

import warnings

import pytest

from runtime.errors import ConfigError
from runtime.kernels.operators import REFERENCE, operators_for
from runtime.kernels.selector import select_kernels


@pytest.fixture
def without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.platforms.packages.find_spec", lambda _name: None)


@pytest.mark.parametrize(
    ("platform", "dtype", "refusal"),
    [("cpu", "float16", "platform cpu has no thread blocks"), ("sm70", "float32", "dtype float32")],
)
def test_the_reference_runs_where_triton_cannot_and_says_why(platform: str, dtype: str, refusal: str) -> None:
    chosen = select_kernels(platform, dtype)
    assert chosen.name == "reference"
    assert chosen.refusal.startswith(refusal)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is missing that could be mended
        assert operators_for(platform, dtype) is REFERENCE


@pytest.mark.parametrize("platform", ["sm70", "cuda"])
def test_a_missing_triton_is_told_with_its_remedy(platform: str, without_triton: None) -> None:
    with pytest.warns(RuntimeWarning, match="Triton is not installed, .* pip install triton"):
        assert operators_for(platform, "float16") is REFERENCE


def test_an_unknown_platform_is_refused() -> None:
    with pytest.raises(ConfigError, match="platform 'tpu'"):
        select_kernels("tpu", "float16")
