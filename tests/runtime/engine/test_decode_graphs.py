"""Captured decode steps: the same answers as without graphs, and nothing that a graph holds ever moves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from graph_double import DoubleBackend, decode_by_metadata
from stub_model import StubModel, engine_of

from runtime.attention import attention as attention_module
from runtime.attention import selector
from runtime.engine.engine import Engine
from runtime.engine.graphs import batch_buckets
from runtime.engine.sampling_params import SamplingParams

LENGTH = 64


@pytest.fixture
def capturable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The decode route of the CPU reads the device's numbers, as those of a card do."""
    specs = tuple(
        replace(spec, capturable=True) if spec.name == "reference_decode" else spec for spec in selector.ROUTES.specs
    )
    monkeypatch.setattr(selector.ROUTES, "specs", specs)
    kernels = {**attention_module.KERNELS, "reference_decode": decode_by_metadata}
    monkeypatch.setattr(attention_module, "KERNELS", kernels)
    selector.select.cache_clear()
    yield
    selector.select.cache_clear()


def graphed(buckets: tuple[int, ...], backend: DoubleBackend | None = None, **options: Any) -> Engine:
    return engine_of(
        StubModel(LENGTH), max_model_len=LENGTH, graphs=buckets, graph_backend=backend or DoubleBackend(), **options
    )


def answers(engine: Engine, seed: int) -> dict[str, Any]:
    """Requests that arrive at random times, with every answer."""
    rng, found = random.Random(seed), {}
    waiting = [([rng.randrange(20) for _ in range(rng.randint(1, 12))], rng.randint(1, 14)) for _ in range(9)]
    while waiting or engine.has_unfinished:
        if waiting and (not engine.has_unfinished or rng.random() < 0.4):
            prompt, length = waiting.pop()
            name = f"request {len(waiting)}"
            engine.add_request(
                prompt, SamplingParams(temperature=0, max_tokens=length, ignore_eos=True), request_id=name
            )
        for output in engine.step():
            if output.finished:
                found[output.request_id] = output.outputs[0].token_ids
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", [{}, {"num_blocks": 8}], ids=["roomy", "preempting"])
def test_replayed_steps_answer_as_steps_that_run_as_they_come(
    capturable: None, seed: int, options: dict[str, Any]
) -> None:
    wanted = answers(engine_of(StubModel(LENGTH), max_model_len=LENGTH, **options), seed)
    engine = graphed((1, 2, 4), **options)

    assert answers(engine, seed) == wanted
    assert sum(count for what, count in engine.stats().graphs.items() if what.startswith("replayed")) >= 8


def test_the_largest_graph_is_captured_first(capturable: None) -> None:
    backend = DoubleBackend()
    graphed((1, 4, 8), backend)
    assert backend.captured == [8, 4, 1]


def test_steps_that_no_graph_fits_run_as_they_come_and_are_counted(capturable: None) -> None:
    engine = graphed((2,))
    for letter in range(3):
        engine.add_request([letter] * 3, SamplingParams(temperature=0, max_tokens=4, ignore_eos=True))
    while engine.has_unfinished:
        engine.step()

    assert engine.stats().graphs == {"not every request decodes": 1, "more than 2 requests": 3}


def test_a_replayed_step_counts_its_routes(capturable: None) -> None:
    engine = graphed((1,))
    before = engine.stats().routes["reference_decode"]
    engine.add_request([1, 2], SamplingParams(temperature=0, max_tokens=5, ignore_eos=True))
    while engine.has_unfinished:
        engine.step()

    assert engine.stats().routes["reference_decode"] - before == 4


def test_a_route_that_reads_the_hosts_numbers_is_never_captured() -> None:
    backend = DoubleBackend()
    engine = graphed((1, 2), backend)
    engine.add_request([1, 2], SamplingParams(temperature=0, max_tokens=3, ignore_eos=True))
    while engine.has_unfinished:
        engine.step()

    assert backend.captured == []
    assert engine.stats().graphs == {"route reference_decode cannot be captured": 3}


@pytest.mark.parametrize(
    ("stated", "most", "buckets"),
    [
        ((), 1, (1,)),
        ((), 4, (1, 2, 4)),
        ((), 20, (1, 2, 4, 8, 16, 20)),
        ((), 64, (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)),
        ((3, 5, 90, 99), 64, (3, 5, 64)),
    ],
)
def test_buckets_are_those_stated_or_cover_every_batch_that_may_run(
    stated: tuple[int, ...], most: int, buckets: tuple[int, ...]
) -> None:
    assert batch_buckets(stated, most) == buckets


def test_an_operand_that_moves_is_noticed_by_the_double() -> None:
    place = {"x": torch.ones(2)}
    graph = DoubleBackend().capture(lambda: place["x"] * 2)
    graph.replay()
    place["x"] = torch.ones(2)
    with pytest.raises(AssertionError, match="or elsewhere"):
        graph.replay()
