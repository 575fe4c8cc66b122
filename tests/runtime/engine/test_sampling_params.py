"""Parameters are checked when they are made; a refusal names parameter, value and range."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "value", "admitted"),
    [
        ("max_tokens", 0, "a whole number from 1"),
        ("max_tokens", 1.5, "a whole number from 1"),
        ("max_tokens", True, "a whole number from 1"),
        ("max_tokens", None, "a whole number from 1"),
        ("min_tokens", -1, "a whole number from 0"),
        ("min_tokens", 17, "at most max_tokens, which is 16"),
        ("temperature", -0.1, "a number from 0 to 1000"),
        ("temperature", NAN, "a number from 0 to 1000"),
        ("temperature", INFINITY, "a number from 0 to 1000"),
        ("temperature", "1", "a number from 0 to 1000"),
        ("top_k", -2, "a whole number from -1"),
        ("top_p", 0, "a number above 0 to 1"),
        ("top_p", 1.01, "a number above 0 to 1"),
        ("min_p", 1.5, "a number from 0 to 1"),
        ("repetition_penalty", 0, "a number from 0.01 to 100"),
        ("presence_penalty", 2.5, "a number from -2 to 2"),
        ("frequency_penalty", -3, "a number from -2 to 2"),
        ("seed", 2**63, f"a whole number from {-(2**63)} to {2**63 - 1} or none"),
        ("logprobs", 21, "a whole number from 0 to 20 or none"),
        ("prompt_logprobs", -1, "a whole number from 0 to 20 or none"),
        ("n", 0, "a whole number from 1 to 128"),
        ("stop", ["", "a"], "a text or a list of texts, none of them empty"),
        ("stop", 3, "a text or a list of texts, none of them empty"),
        ("bad_words", [b"a"], "a text or a list of texts, none of them empty"),
        ("stop_token_ids", [-1], "a list of token ids, whole numbers from 0"),
        ("stop_token_ids", 7, "a list of token ids, whole numbers from 0"),
        ("logit_bias", {"7": 1.0}, "a mapping from token ids, whole numbers from 0, to biases"),
        ("logit_bias", [1], "a mapping from token ids, whole numbers from 0, to biases"),
        ("ignore_eos", 1, "true or false"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object, admitted: str) -> None:
    with pytest.raises(RequestError) as refusal:
        SamplingParams(**{name: value})  # type: ignore[arg-type]
    assert str(refusal.value) == f"{name} = {value!r}: it must be {admitted}"


def test_a_refused_bias_is_named_with_its_token() -> None:
    with pytest.raises(RequestError, match=r"^logit_bias\[7\] = 101: it must be a number from -100 to 100$"):
        SamplingParams(logit_bias={7: 101})


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(RequestError) as refusal:
        SamplingParams(stop=["x" * 10_000, ""])
    assert len(str(refusal.value)) < 200


def test_limits_are_admitted() -> None:
    SamplingParams(
        max_tokens=1, min_tokens=1, temperature=0, top_k=-1, top_p=1, min_p=1, presence_penalty=-2, frequency_penalty=2,
        logprobs=20, prompt_logprobs=0, n=128, seed=-(2**63), logit_bias={0: -100, 1: 100},
    )  # fmt: skip


def test_texts_and_lists_become_tuples_of_its_own() -> None:
    stop, bias = ["a"], {1: 2.0}
    params = SamplingParams(stop=stop, bad_words="no", stop_token_ids={3}, logit_bias=bias)  # type: ignore[arg-type]
    stop.append("b")
    bias[2] = 3.0
    assert (params.stop, params.bad_words, params.stop_token_ids) == (("a",), ("no",), (3,))
    assert params.logit_bias == {1: 2.0}


def test_it_cannot_be_changed_and_survives_a_pickle() -> None:
    params = SamplingParams(stop="a", seed=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.seed = 2  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(params)) == params


@pytest.mark.parametrize(("temperature", "greedy"), [(0, True), (9e-6, True), (1e-5, False), (1, False)])
def test_a_request_is_greedy_where_temperature_is_next_to_none(temperature: float, greedy: bool) -> None:
    assert SamplingParams(temperature=temperature).greedy is greedy


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=2),
    max_leaves=4,
)
NAMES = [field.name for field in dataclasses.fields(SamplingParams)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=3))
def test_whatever_comes_in_is_taken_or_refused_in_words(values: dict[str, Any]) -> None:
    try:
        SamplingParams(**values)
    except RequestError as error:
        refusal = str(error)
    else:
        return
    assert any(name in refusal for name in values)
