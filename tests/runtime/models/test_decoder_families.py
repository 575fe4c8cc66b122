"""Logits of every family equal those of `transformers`, however its tokens are cut into steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from decoder_driver import DecoderDriver
from reference_decoders import (
    FAMILIES,
    VOCAB_SIZE,
    build_reference,
    random_config,
    reference_logits,
    save_reference,
)

from runtime.models.checkpoint import open_checkpoint
from runtime.models.decoder import Decoder
from runtime.models.loader import read_decoder

torch.set_num_threads(1)
SEEDS = range(5)
LENGTHS = (45, 1, 20, 33)

Schedule = Callable[[random.Random, list[int]], Iterator[dict[int, int]]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], tuple[Any, Decoder]]:
    @cache
    def build(family: str, seed: int) -> tuple[Any, Decoder]:
        reference = build_reference(random_config(family, seed), seed)
        folder = save_reference(reference, tmp_path_factory.mktemp(f"{family}-{seed}"))
        return reference, read(folder)

    return build


def read(folder: Path) -> Decoder:
    return read_decoder(open_checkpoint(folder), torch.float32)


def whole_prompts(_choice: random.Random, lengths: list[int]) -> Iterator[dict[int, int]]:
    """Every request alone, in one step."""
    for request, length in enumerate(lengths):
        yield {request: length}


def decode(_choice: random.Random, lengths: list[int]) -> Iterator[dict[int, int]]:
    """All requests together, a token a step, until each has ended."""
    for position in range(max(lengths)):
        yield {request: 1 for request, length in enumerate(lengths) if position < length}


def mixed_chunks(choice: random.Random, lengths: list[int]) -> Iterator[dict[int, int]]:
    """Any requests together, each with any number of its next tokens."""
    left = dict(enumerate(lengths))
    while left:
        chosen = choice.sample(sorted(left), choice.randint(1, len(left)))
        rows = {request: choice.choice([1, min(left[request], choice.randint(1, 20))]) for request in chosen}
        yield rows
        left = {request: rest for request, count in left.items() if (rest := count - rows.get(request, 0))}


@pytest.mark.parametrize("schedule", [whole_prompts, decode, mixed_chunks])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_equal_those_of_transformers(
    models: Callable[[str, int], tuple[Any, Decoder]], family: str, seed: int, schedule: Schedule
) -> None:
    reference, model = models(family, seed)
    choice = random.Random(seed)
    texts = [[choice.randrange(VOCAB_SIZE) for _ in range(length)] for length in LENGTHS]
    driver = DecoderDriver(model, len(texts), max(LENGTHS))
    computed: list[list[torch.Tensor]] = [[] for _ in texts]
    for rows in schedule(choice, list(LENGTHS)):
        step = {request: texts[request][driver.lengths[request] :][:count] for request, count in rows.items()}
        for request, logits in driver.step(step).items():
            computed[request].append(logits)
    for text, parts in zip(texts, computed, strict=True):
        torch.testing.assert_close(torch.cat(parts), reference_logits(reference, text), atol=1e-4, rtol=0)


def test_the_configurations_cover_the_options() -> None:
    configs = [random_config(family, seed) for family in FAMILIES for seed in SEEDS]
    seen = {
        (key, str(value))
        for config in configs
        for key, value in {**config.to_dict(), **(config.rope_parameters or {})}.items()
        if not isinstance(value, dict | list)
    }
    for option in (
        *(("rope_type", kind) for kind in ("default", "linear", "llama3", "yarn")),
        *(
            (key, str(value))
            for key in ("tie_word_embeddings", "attention_bias", "mlp_bias")
            for value in (True, False)
        ),
        ("use_sliding_window", "True"),
        ("use_sliding_window", "False"),
        ("final_logit_softcapping", "3.0"),
    ):
        assert option in seen
