"""Every KV codec in a whole engine: sharing blocks and losing them must not change an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from runtime import LLM, SamplingParams
from runtime.formats.kv.declarations import KV_CODECS

torch.set_num_threads(1)

GREEDY = SamplingParams(temperature=0, max_tokens=40)
SHARED = "the ant and the hen sat on the mat with the ant " * 2


def answers(llm: LLM, prompts: list[str]) -> list[Any]:
    return [output.outputs[0].token_ids for output in llm.generate(prompts, GREEDY)]


def loaded(model: Path, **settings: object) -> LLM:
    return LLM(model, platform="cpu", environ={}, settings=settings)


@pytest.mark.parametrize("codec", [spec.name for spec in KV_CODECS])
def test_a_prefix_that_is_cached_gives_the_answer_that_it_gave(tiny_model: Path, codec: str) -> None:
    llm = loaded(tiny_model, codec=codec)
    first = answers(llm, [SHARED + "hen"])
    assert llm.engine.stats().cached_tokens == 0

    assert answers(llm, [SHARED + "hen"]) == first
    assert llm.engine.stats().cached_tokens > 0


@pytest.mark.parametrize("codec", [spec.name for spec in KV_CODECS])
def test_a_pool_that_is_too_small_for_all_gives_the_same_answers(tiny_model: Path, codec: str) -> None:
    prompts = [f"{word} the ant" for word in ("hen", "ant", "and", "the")]
    plenty = answers(loaded(tiny_model, codec=codec), prompts)

    small = loaded(tiny_model, **{"codec": codec, "cache.num_blocks": 10})
    assert answers(small, prompts) == plenty
    assert small.engine.stats().preemptions > 0
