"""Tokens drawn on the device."""

from __future__ import annotations

import pytest
import torch

from runtime.engine.sampling_params import SamplingParams
from runtime.kernels.reference.sampling import NO_TOKEN
from runtime.kernels.reference.sampling import draw_tokens as reference

FILTERS = [
    SamplingParams(temperature=0.8),
    SamplingParams(temperature=1.0, top_k=5),
    SamplingParams(temperature=1.3, top_p=0.7),
    SamplingParams(temperature=1.0, min_p=0.05),
    SamplingParams(temperature=0.5, top_k=100, top_p=0.9, min_p=0.01),
]


@pytest.mark.parametrize("vocab", [2, 257, 5000])
def test_the_reference_draws_the_same(vocab: int, device: torch.device) -> None:
    """Weights are rounded otherwise, so a uniform number at the very edge of two tokens may fall to either."""
    from runtime.kernels.triton.sampling import draw_tokens

    generator = torch.Generator().manual_seed(vocab)
    different = 0
    for _ in range(4):
        logits = 3 * torch.randn(len(FILTERS), vocab, generator=generator)
        uniforms = torch.rand(len(FILTERS), dtype=torch.float64, generator=generator).tolist()
        ours = draw_tokens(logits.to(device, copy=True), FILTERS, uniforms).cpu()
        different += int((ours != reference(logits, FILTERS, uniforms)).sum())
    assert different <= 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_row_that_is_not_finite_gets_no_token(bad: float, device: torch.device) -> None:
    from runtime.kernels.triton.sampling import draw_tokens

    logits = torch.zeros(2, 300)
    logits[1, 7] = bad
    tokens = draw_tokens(logits.to(device), FILTERS[:2], [0.5, 0.5]).tolist()
    assert tokens[0] != NO_TOKEN
    assert tokens[1] == NO_TOKEN
