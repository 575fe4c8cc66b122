"""Triton's draws are the reference's: the same filters, the same randomness, the same rows without a token."""

from __future__ import annotations

import pytest
import torch

from runtime.engine.randomness import Uniforms
from runtime.engine.sampling_params import SamplingParams
from runtime.kernels.operators import REFERENCE, Operators, operators_for

TRITON = operators_for("sm70", "float16")
VOCAB = 4099  # more than a block holds
CASES = {
    "temperature": SamplingParams(temperature=0.7),
    "top_k": SamplingParams(temperature=1.0, top_k=40),
    "top_p": SamplingParams(temperature=1.3, top_p=0.8),
    "min_p": SamplingParams(temperature=2.0, min_p=0.05),
    "all": SamplingParams(temperature=1.0, top_k=1500, top_p=0.95, min_p=0.001),
    "most_likely": SamplingParams(temperature=1.0, top_k=1),
}


def logits_of(rows: int, vocab: int = VOCAB) -> torch.Tensor:
    return torch.randn(rows, vocab, generator=torch.Generator().manual_seed(rows)) * 3


@pytest.mark.parametrize("params", CASES.values(), ids=CASES)
def test_a_draw_is_the_references(params: SamplingParams) -> None:
    logits = logits_of(4)
    logits[1] = logits[1].round()  # many equals, also where a filter ends
    logits[2, :4000] = -torch.inf
    uniforms = [Uniforms(8, 0).at(1), Uniforms(9, 0).at(2), Uniforms(10, 0).at(3), 1 - 2.0**-52]
    found = TRITON.draw_tokens(logits.clone(), [params] * 4, uniforms)
    assert found.tolist() == REFERENCE.draw_tokens(logits.clone(), [params] * 4, uniforms).tolist()


def drawn_of_two(logits: torch.Tensor, params: SamplingParams, uniform: float) -> int:
    """What the definitions of the filters leave of one or two tokens."""
    shares = (logits.double() / params.temperature).softmax(0)
    likely = int(shares.argmax())
    is_alone = params.top_k == 1 or shares[likely] >= params.top_p or shares.min() < params.min_p * shares[likely]
    return likely if is_alone else int(uniform >= shares[0])


@pytest.mark.parametrize("operators", [REFERENCE, TRITON], ids=["reference", "triton"])
@pytest.mark.parametrize("vocab", [1, 2])
@pytest.mark.parametrize("params", CASES.values(), ids=CASES)
def test_the_smallest_vocabularies_are_drawn_from(params: SamplingParams, vocab: int, operators: Operators) -> None:
    logits = logits_of(9, vocab)
    uniforms = [0.0, 1 - 2.0**-52, *(step / 8 for step in range(7))]
    expected = [drawn_of_two(row, params, uniform) for row, uniform in zip(logits, uniforms, strict=True)]
    assert operators.draw_tokens(logits, [params] * 9, uniforms).tolist() == expected


def test_equals_of_the_last_token_kept_are_kept() -> None:
    logits = torch.full((2, 7), -3.0)
    logits[:, 2:5] = 1.0
    params = [SamplingParams(temperature=1.0, top_k=2), SamplingParams(temperature=1.0, top_p=0.4)]
    drawn = {
        int(token)
        for uniform in (0.0, 0.5, 0.99)
        for token in TRITON.draw_tokens(logits.clone(), params, [uniform] * 2)
    }
    assert drawn == {2, 3, 4}


def test_rows_that_are_not_sound_have_no_token() -> None:
    logits = logits_of(4)[:, :50].contiguous()
    logits[0, 3], logits[1, 4], logits[2] = torch.nan, torch.inf, -torch.inf
    params = [SamplingParams(temperature=1.0)] * 4
    tokens = TRITON.draw_tokens(logits, params, [0.5] * 4).tolist()
    assert tokens[:3] == [-1, -1, -1]
    assert 0 <= tokens[3] < 50
