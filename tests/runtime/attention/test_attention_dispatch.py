"""Attention chooses routes once a step and stage, counts what it chose, and says why."""

from __future__ import annotations

import pytest
import torch
from attention_oracle import poisoned_attention

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.declarations import LayerShape
from runtime.attention.executors import KERNELS
from runtime.attention.kv_cache import PagedKVCache
from runtime.attention.workspace import Workspace
from runtime.config.schema import AttentionConfig
from runtime.errors import ConfigError, RouteError
from runtime.platforms import declared

FULL = LayerShape(2, 1, 8, 0.3)
LOCAL = LayerShape(2, 1, 8, 0.3, window=4)
MIXED = AttentionBatch.build([[0], [1], [2]], [2, 0, 3], [1, 3, 1], 4)


def test_a_mixed_step_has_a_route_for_each_stage_and_distinct_shape() -> None:
    attention = poisoned_attention([FULL, LOCAL, FULL, LOCAL], 3, 4)
    choices = attention.begin(MIXED).choices
    chosen = {(shape.window, stage): choice.spec.name for (shape, stage), choice in choices.items()}
    assert chosen == {
        (None, "decode"): "reference_decode",
        (4, "decode"): "reference_decode",
        (None, "prefill"): "reference_attention",
        (4, "prefill"): "reference_attention",
    }


def test_counters_grow_by_steps_stages_and_shapes_and_not_by_layers() -> None:
    attention = poisoned_attention([FULL] * 5, 3, 4)
    attention.begin(MIXED)
    attention.begin(AttentionBatch.build([[0]], [3], [1], 4))
    assert attention.counters == {"reference_decode": 2, "reference_attention": 1, "reference": 3}


def test_refusals_are_counted_by_route_and_reason() -> None:
    attention = poisoned_attention([FULL], 3, 4)
    for _ in range(3):
        attention.begin(MIXED)
    assert attention.refusals["flash_decode", "runs on sm70 or cuda, not on cpu"] == 3
    assert attention.refusals["flash_prefill", "runs on sm70, not on cpu"] == 3


def test_operators_that_do_not_run_are_counted_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.platforms.packages.find_spec", lambda _name: None)
    shape = LayerShape(8, 2, 64, 0.125)
    cache = PagedKVCache([shape], 2, 16, dtype=torch.float16)
    attention = Attention([shape], cache, declared("sm70"), AttentionConfig(), native_refusal="kernels.native is off")
    attention.begin(AttentionBatch.build([[0]], [3], [1], 16))
    assert attention.counters == {"reference_decode": 1, "reference": 1}
    assert attention.refusals == {
        ("flash_decode_grouped", "needs native: kernels.native is off"): 1,
        ("flash_decode", "needs triton: it is not installed; run `pip install triton==3.6.0`"): 1,
    }


def test_choices_are_those_of_the_step() -> None:
    attention = poisoned_attention([FULL], 3, 4)
    attention.begin(MIXED)
    step = attention.begin(AttentionBatch.build([[0]], [0], [3], 4))
    assert [stage for _, stage in step.choices] == ["prefill"]


def test_a_forced_route_runs_every_stage_that_it_serves() -> None:
    attention = poisoned_attention([FULL], 3, 4, route="reference_attention")
    attention.begin(MIXED)
    assert attention.counters == {"reference_attention": 2, "reference": 2}


def test_forced_routes_answer_alike() -> None:
    answers = []
    for route in ("reference_decode", "reference_attention"):
        attention = poisoned_attention([FULL], 3, 4, route=route)
        generator = torch.Generator().manual_seed(0)
        for start, length in ((0, 3), (3, 1)):
            attention.begin(AttentionBatch.build([[0], [2]], [start] * 2, [length] * 2, 4))
            joint = torch.randn(2 * length, 4, 8, generator=generator)
            answers.append(attention.forward(0, *joint.split((2, 1, 1), 1)))
    torch.testing.assert_close(answers[1], answers[3])


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        ("flash_decode", "runs on sm70 or cuda, not on cpu"),
        ("flash_decoder", "did you mean"),
        ("flash", "is an observer"),
    ],
)
def test_a_forced_route_that_can_never_run_is_refused_before_the_first_step(route: str, reason: str) -> None:
    with pytest.raises(RouteError, match=reason):
        poisoned_attention([FULL], 3, 4, route=route)


def test_layers_of_a_step_share_scratch_memory_and_steps_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def build() -> torch.Tensor:
        built.append(torch.zeros(1))
        return built[-1]

    def kernel(*_: object, scratch: Workspace, **__: object) -> None:
        scratch.once("mask", build)

    monkeypatch.setitem(KERNELS, "reference_decode", kernel)  # type: ignore[arg-type]
    attention = poisoned_attention([FULL, FULL], 3, 4)
    for step in (1, 2):
        attention.begin(AttentionBatch.build([[0]], [step], [1], 4))
        for layer in range(2):
            attention.forward(layer, torch.zeros(1, 2, 8), torch.zeros(1, 1, 8), torch.zeros(1, 1, 8))
        assert len(built) == step


def test_forward_without_a_step_is_an_error() -> None:
    attention = poisoned_attention([FULL], 3, 4)
    with pytest.raises(RuntimeError, match="call begin"):
        attention.forward(0, torch.zeros(1, 2, 8), torch.zeros(1, 1, 8), torch.zeros(1, 1, 8))


@pytest.mark.parametrize("codec", ["auto", "fp32", "fp16", "bf16", "fp8", "fp8_e5m2", "int8", "int8_g64"])
def test_bytes_per_block_are_what_the_cache_takes(codec: str) -> None:
    layers = [LayerShape(4, 2, 64, 0.3), LayerShape(8, 4, 16, 1.0)]
    cache = PagedKVCache(layers, 5, 4, codec, dtype=torch.float16)
    held = sum(x.nbytes for at in range(2) for x in (cache.pages(at).keys, cache.pages(at).values))
    assert held == (5 + 1) * PagedKVCache.bytes_per_block(layers, 4, codec, torch.float16)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    with pytest.raises(ConfigError, match=r"cache\.v_scale: a scale is positive and finite"):
        PagedKVCache([FULL], 1, 4, "fp8", 1.0, scale)


@pytest.mark.parametrize("codec", ["fp16", "int8_per_token_head"])
def test_a_scale_for_a_codec_that_has_none_is_refused(codec: str) -> None:
    with pytest.raises(ConfigError, match=rf"cache\.k_scale: codec '{codec}' has no scale of the cache"):
        PagedKVCache([FULL], 1, 4, codec, 2.0, 1.0)


def test_a_workspace_builds_once_a_step() -> None:
    workspace, built = Workspace(), []

    def build() -> torch.Tensor:
        built.append(torch.zeros(1))
        return built[-1]

    assert workspace.once("mask", build) is workspace.once("mask", build)
    workspace.reset()
    assert workspace.once("mask", build) is built[1]
    assert len(built) == 2


CPU = torch.device("cpu")


def test_a_buffer_keeps_its_place_until_more_is_asked_for() -> None:
    workspace = Workspace()
    first = workspace.buffer((4, 8), CPU)
    assert (first.shape, first.dtype, first.is_contiguous()) == ((4, 8), torch.float32, True)
    workspace.reset()
    assert workspace.buffer((3, 5), CPU).data_ptr() == first.data_ptr()
    first.fill_(3.0)
    largest = workspace.buffer((100, 8), CPU)
    largest.fill_(4.0)
    assert workspace.buffer((4, 8), CPU).data_ptr() == largest.data_ptr()
    assert (first == 3.0).all()


def test_counters_are_zeros_of_their_own_that_are_handed_out_as_they_were_left() -> None:
    workspace = Workspace()
    first = workspace.counters(4, CPU)
    assert (first.tolist(), first.dtype) == ([0] * 4, torch.int32)
    workspace.buffer((4,), CPU).fill_(3.0)
    workspace.reset()
    assert workspace.counters(3, CPU).data_ptr() == first.data_ptr()
    assert workspace.counters(100, CPU).tolist() == [0] * 100
    assert first.tolist() == [0] * 4


def test_a_buffer_does_not_grow_while_a_graph_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace()
    kept, counters = workspace.buffer((4, 8), CPU), workspace.counters(4, CPU)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert workspace.buffer((32,), CPU).data_ptr() == kept.data_ptr()
    with pytest.raises(RuntimeError, match="a captured graph needs 33 elements of attention workspace"):
        workspace.buffer((33,), CPU)
    assert workspace.counters(4, CPU).data_ptr() == counters.data_ptr()
    with pytest.raises(RuntimeError, match="a captured graph needs 5 elements of attention counters"):
        workspace.counters(5, CPU)
