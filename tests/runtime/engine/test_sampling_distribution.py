"""Drawing follows the weights, and the filters keep what the oracle keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LogitsProcessorList, MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from runtime.engine.randomness import Uniforms
from runtime.engine.sampling_params import SamplingParams
from runtime.kernels.reference.drawing import draw
from runtime.kernels.reference.filters import apply_filters


def seeded(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("vocab", [7, 300])
def test_frequencies_of_draws_pass_a_chi_square_test(vocab: int) -> None:
    weights = seeded(vocab).exp()
    streams = [Uniforms(seed, 0) for seed in range(500)]
    uniforms = [stream.at(position) for stream in streams for position in range(60)]
    draws = len(uniforms)
    tokens = draw(weights.expand(draws, vocab).contiguous(), uniforms)
    expected = (weights.double() / weights.double().sum() * draws).numpy()
    observed = np.bincount(tokens.numpy(), minlength=vocab)
    statistic = ((observed - expected) ** 2 / expected).sum()
    freedom = vocab - 1
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5  # four standard deviations above its mean


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    vocab=st.integers(1, 700),
    seed=st.integers(0, 1000),
    uniform=st.sampled_from([0.0, 1 - 2.0**-52]) | st.integers(0, 2**52 - 1).map(lambda number: number * 2.0**-52),
    share_of_zeros=st.sampled_from([0.0, 0.5, 0.99]),
)
def test_a_draw_inverts_the_distribution(vocab: int, seed: int, uniform: float, share_of_zeros: float) -> None:
    random = np.random.default_rng(seed)
    weights = np.exp(random.normal(0, 4, vocab)).astype(np.float32)
    weights[random.random(vocab) < share_of_zeros] = 0
    weights[random.integers(vocab)] = 1
    token = int(draw(torch.from_numpy(weights[None]), [uniform])[0])
    reached = weights.astype(np.float64).cumsum() / weights.sum(dtype=np.float64)
    below = reached[token - 1] if token else 0.0
    assert weights[token] > 0
    assert below - 1e-6 <= uniform <= reached[token] + 1e-6


def test_the_tail_of_a_large_vocabulary_can_be_drawn() -> None:
    weights = torch.full((1, 262_144), 1e-9)
    weights[0, 0] = 1.0
    assert int(draw(weights, [1 - 2.0**-52])[0]) > 262_000


def kept_by(params: SamplingParams, weights: torch.Tensor) -> torch.Tensor:
    weights = weights.clone()
    apply_filters(weights, [params] * len(weights))
    return weights


def kept_by_transformers(params: SamplingParams, weights: torch.Tensor) -> torch.Tensor:
    warpers = LogitsProcessorList()
    if params.min_p:
        warpers.append(MinPLogitsWarper(params.min_p))
    if params.top_k > 0:
        warpers.append(TopKLogitsWarper(params.top_k))
    if params.top_p < 1:
        warpers.append(TopPLogitsWarper(params.top_p))
    history: Any = torch.zeros(len(weights), 1, dtype=torch.long)
    scores = warpers(history, weights.double().log())
    return torch.where(scores.isinf(), 0, weights)


FILTERS: list[dict[str, Any]] = [
    {"top_k": 1},
    {"top_k": 50},
    {"top_k": 1500},
    {"top_k": 10**9},
    {"top_p": 0.5},
    {"top_p": 0.999},
    {"top_p": 1e-6},
    {"min_p": 0.02},
    {"min_p": 1.0},
    {"top_k": 50, "top_p": 0.8},
    {"top_k": 1500, "top_p": 0.9},
    {"min_p": 0.01, "top_p": 0.9},
    {"min_p": 0.02, "top_k": 40, "top_p": 0.95},
    {"min_p": 0.3, "top_k": 1500, "top_p": 0.99},
]


@pytest.mark.parametrize("vocab", [1, 2, 30, 4000])
@pytest.mark.parametrize("sharpness", [0.5, 3.0])
@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_keep_what_transformers_keeps(vocab: int, sharpness: float, filters: dict[str, Any]) -> None:
    logits = seeded(8, vocab, seed=1) * sharpness
    weights = (logits - logits.amax(1, keepdim=True)).exp()
    params = SamplingParams(**filters)
    assert torch.equal(kept_by(params, weights), kept_by_transformers(params, weights))


def test_each_row_has_its_own_filters_and_is_not_touched_by_others() -> None:
    logits = seeded(len(FILTERS) + 1, 4000, seed=2) * 2
    weights = (logits - logits.amax(1, keepdim=True)).exp()
    params = [SamplingParams(**filters) for filters in [*FILTERS, {}]]
    together = weights.clone()
    apply_filters(together, params)
    for row, each in enumerate(params):
        assert torch.equal(together[row : row + 1], kept_by(each, weights[row : row + 1]))
    assert torch.equal(together[-1], weights[-1])


@pytest.mark.parametrize("filters", [{"top_k": 2}, {"top_p": 0.5}], ids=str)
def test_equals_of_the_last_one_kept_are_kept(filters: dict[str, Any]) -> None:
    weights = torch.tensor([[0.1, 1.0, 0.5, 0.5, 0.5, 0.0]])
    assert kept_by(SamplingParams(**filters), weights).tolist() == [[0, 1, 0.5, 0.5, 0.5, 0]]


def test_top_k_alone_keeps_its_number_however_unlikely_the_last_is() -> None:
    weights = torch.tensor([[1e-30, 1.0, 1e-20, 1e-35]])
    assert torch.equal(kept_by(SamplingParams(top_k=3), weights), torch.tensor([[1e-30, 1.0, 1e-20, 0]]))
