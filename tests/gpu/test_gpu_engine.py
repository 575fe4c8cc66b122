"""A real model on the device: greedy answers are those of float32 on the CPU, but for near ties."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from runtime.engine.outputs import CompletionOutput
from runtime.engine.sampling_params import SamplingParams
from runtime.llm import LLM

PROMPTS = ["The capital of France is", "Once upon a time,", "def fibonacci(n):", "Water boils at"]
GREEDY = SamplingParams(temperature=0, max_tokens=32, logprobs=5)
NO_SETTINGS: Mapping[str, object] = {}
FLOAT32: Mapping[str, object] = {"model.dtype": "float32"}
NEAR_TIE = 0.1
"""Two tokens whose log probabilities differ by less may change places where halves are computed with."""


def answers(
    model: Path, platform: str = "auto", settings: Mapping[str, object] | None = None
) -> list[CompletionOutput]:
    return generate(load(model, platform, settings))


def load(model: Path, platform: str = "auto", settings: Mapping[str, object] | None = None) -> LLM:
    """Small enough for any card."""
    small = {"model.max_model_len": 512, "scheduler.max_num_seqs": 8}
    return LLM(model, platform=platform, settings={**small, **(settings or {})}, environ={})


def generate(llm: LLM) -> list[CompletionOutput]:
    return [output.outputs[0] for output in llm.generate(PROMPTS, GREEDY)]


def assert_same_answers(ours: list[CompletionOutput], theirs: list[CompletionOutput]) -> None:
    """Token by token up to the first near tie, beyond which each goes its own way."""
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.error is None
        assert other.logprobs is not None
        for token, expected, likely in zip(mine.token_ids, other.token_ids, other.logprobs, strict=False):
            if token != expected:
                chances = dict(likely.top)
                assert chances.get(token, float("-inf")) > chances[expected] - NEAR_TIE
                break


@pytest.fixture(scope="module")
def reference(smollm2: Path) -> list[CompletionOutput]:
    return generate(load(smollm2, "cpu", FLOAT32))


@pytest.mark.parametrize("weights", ["packed", "dequantized"])
def test_answers(weights: str, smollm2: Path, reference: list[CompletionOutput], card: torch.device) -> None:
    assert_same_answers(generate(load(smollm2, settings={"model.weights": weights})), reference)


@pytest.mark.parametrize("codec", ["fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"])
def test_answers_with_a_smaller_cache(codec: str, smollm2: Path, card: torch.device) -> None:
    settings = {"cache.codec": codec}
    expected = generate(load(smollm2, "cpu", {**settings, **FLOAT32}))
    assert_same_answers(generate(load(smollm2, settings=settings)), expected)


def test_nothing_falls_back_to_the_reference(smollm2: Path, card: torch.device) -> None:
    llm = load(smollm2)
    if not llm.platform.qualified:
        pytest.skip("an unqualified device may fall back")
    generate(llm)
    assert llm.engine.stats().routes.get("reference", 0) == 0
    assert llm.linear.counters["reference"] == 0


def test_graphs_answer_as_steps_without_them(smollm2: Path, card: torch.device) -> None:
    captured = load(smollm2, settings={"graphs.enabled": True, "graphs.batch_sizes": (1, 2, 4)})
    ours = generate(captured)
    counters = captured.engine.stats().graphs
    if not any(name.startswith("replayed") for name in counters):
        assert not captured.platform.qualified
        pytest.skip(f"no graph here: {', '.join(counters)}")
    assert_same_answers(ours, generate(load(smollm2, settings={"graphs.enabled": False})))
