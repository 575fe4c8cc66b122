"""After each token: does the sequence end, and why?"""

from __future__ import annotations

from typing import Any

import pytest

from runtime.engine.finish import Ending, end_tokens
from runtime.engine.request import Finish
from runtime.engine.sampling_params import SamplingParams

EOS, STOP, OTHER = 2, 5, 9


def after(token: int, num_output: int = 3, stop_string: str | None = None, **params: Any) -> Finish | None:
    given: dict[str, Any] = {"max_tokens": 8, "stop_token_ids": [STOP]} | params
    ending = Ending(SamplingParams(**given), frozenset({EOS}), most_tokens=10)
    return ending.after(token, num_output, stop_string)


@pytest.mark.parametrize(
    ("situation", "expected"),
    [
        ({"token": OTHER}, None),
        ({"token": EOS}, Finish("stop")),
        ({"token": EOS, "ignore_eos": True}, None),
        ({"token": STOP}, Finish("stop", STOP)),
        ({"token": STOP, "ignore_eos": True}, Finish("stop", STOP)),
        ({"token": EOS, "ignore_eos": True, "stop_token_ids": [EOS]}, Finish("stop", EOS)),
        ({"token": OTHER, "stop_string": "\n"}, Finish("stop", "\n")),
        ({"token": OTHER, "num_output": 8}, Finish("length")),
        ({"token": OTHER, "num_output": 7}, None),
        ({"token": EOS, "num_output": 8}, Finish("stop")),
        ({"token": OTHER, "num_output": 8, "stop_string": "."}, Finish("stop", ".")),
        ({"token": OTHER, "num_output": 10, "max_tokens": 99}, Finish("length")),
        ({"token": OTHER, "num_output": 9, "max_tokens": 99}, None),
        ({"token": STOP, "num_output": 3, "min_tokens": 3}, None),
        ({"token": STOP, "num_output": 4, "min_tokens": 3}, Finish("stop", STOP)),
    ],
    ids=str,
)
def test_the_first_reason_that_holds_is_given(situation: dict[str, Any], expected: Finish | None) -> None:
    assert after(**situation) == expected


def test_end_tokens_are_the_models_own_unless_ignored_and_those_asked_for() -> None:
    assert end_tokens(SamplingParams(stop_token_ids=[STOP]), frozenset({EOS})) == {EOS, STOP}
    assert end_tokens(SamplingParams(stop_token_ids=[STOP], ignore_eos=True), frozenset({EOS})) == {STOP}
