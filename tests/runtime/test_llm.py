"""`LLM`: settings from wherever they are stated, many prompts at once, streams, and what happens when it goes wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_checkpoint import MAX_POSITIONS, write_tiny_checkpoint

from benchmarks.requantize import write_checkpoint
from benchmarks.weight_recipes import recipe
from runtime import LLM, SamplingParams
from runtime.errors import CheckpointError, ConfigError, RequestError, RouteError
from runtime.models.checkpoint import open_checkpoint
from runtime.models.decoder import Decoder
from runtime.models.loader import read_decoder
from runtime.models.reading import LoadProgress

torch.set_num_threads(1)

GREEDY = SamplingParams(temperature=0, max_tokens=12)
TALK = [{"role": "user", "content": "the ant"}]
# More than the tiny model's whole context, and a token that it does not know.
TOO_LONG, UNKNOWN_TOKEN = [1] * MAX_POSITIONS, [10**6]


@pytest.fixture
def llm(tiny_model: Path) -> LLM:
    return LLM(tiny_model, platform="cpu", environ={}, settings={"max_num_seqs": 8})


def loaded(model: Path, environ: dict[str, str] | None = None, **settings: object) -> LLM:
    return LLM(model, platform="cpu", environ=environ or {}, settings=settings)


def texts(llm: LLM, *prompts: Any, params: SamplingParams = GREEDY) -> list[str]:
    return [output.outputs[0].text for output in llm.generate(prompts, params)]


def held_blocks(llm: LLM) -> int:
    stats = llm.engine.stats()
    return stats.num_blocks - stats.available_blocks


def fail_in_forward(monkeypatch: pytest.MonkeyPatch, error: BaseException, after_steps: int = 0) -> None:
    """Let the model raise in the middle of a step, once."""
    forward, steps = Decoder.forward, iter(range(after_steps))

    def failing(*arguments: Any) -> torch.Tensor:
        if next(steps, None) is None:
            monkeypatch.setattr(Decoder, "forward", forward)
            raise error
        return forward(*arguments)

    monkeypatch.setattr(Decoder, "forward", failing)


# Settings


@pytest.mark.parametrize(
    ("settings", "environ", "value", "source"),
    [
        ({"model.dtype": "float16"}, {"V100_DTYPE": "bfloat16"}, "float16", "explicit"),
        ({}, {"V100_DTYPE": "bfloat16"}, "bfloat16", "environment"),
        ({}, {}, "float32", "platform"),
        ({"model.dtype": "auto"}, {}, "float32", "platform"),
    ],
)
def test_the_strongest_source_of_a_setting_reaches_the_model(
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    environ: dict[str, str],
    value: str,
    source: str,
) -> None:
    models: list[Decoder] = []

    def read(*given: Any) -> Decoder:
        models.append(read_decoder(*given))
        return models[0]

    monkeypatch.setattr("runtime.models.loader.read_decoder", read)

    llm = loaded(tiny_model, environ, **settings)

    assert llm.resolved.config.model.dtype == value
    assert llm.resolved.provenance["model.dtype"].chosen.source == source
    assert [model.dtype for model in models] == [getattr(torch, value)]


def test_a_cpu_decodes_quantised_weights_once_unless_they_shall_stay_packed(tiny_model: Path, tmp_path: Path) -> None:
    write_checkpoint(open_checkpoint(tiny_model), recipe("int8"), tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_model / name, tmp_path)
    sizes: dict[str, int] = {}
    answers = {}
    for weights in ("auto", "packed", "dequantized"):

        def note(state: LoadProgress, weights: str = weights) -> None:
            sizes[weights] = state.total_nbytes

        llm = LLM(tmp_path, platform="cpu", environ={}, settings={"weights": weights}, progress=note)
        answers[weights] = texts(llm, "the ant", "an")
    assert sizes["packed"] < sizes["auto"] == sizes["dequantized"]
    assert answers["packed"] == answers["auto"] == answers["dequantized"]


def test_the_model_is_the_named_one_then_the_variable_then_the_packaged_one(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_tiny_checkpoint(tmp_path / "other")
    monkeypatch.setattr("runtime.llm.default_model", lambda: other)

    named = loaded(tiny_model, {"V100_MODEL": str(other)})
    by_variable = LLM(platform="cpu", environ={"V100_MODEL": str(tiny_model)})
    packaged = LLM(platform="cpu", environ={})

    assert named.resolved.config.model.path == by_variable.resolved.config.model.path == str(tiny_model)
    assert packaged.resolved.config.model.path == str(other)
    assert packaged.resolved.provenance["model.path"].chosen.source == "model"


def test_the_environment_is_read_once(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("V100_MAX_MODEL_LEN", "40")
    llm = LLM(tiny_model, platform="cpu")
    before = texts(llm, "the")

    for name, value in {"V100_MAX_MODEL_LEN": "2", "V100_DTYPE": "nonsense", "V100_KV_CODEC": "fp8"}.items():
        monkeypatch.setenv(name, value)

    assert texts(llm, "the") == before
    assert llm.resolved.config.model.max_model_len == 40


def test_two_models_in_one_process_keep_their_own_settings(tiny_model: Path) -> None:
    short, long = loaded(tiny_model, max_model_len=8), loaded(tiny_model, block_size=32, seed=5)

    assert len(texts(short, [1, 2, 3], params=SamplingParams(temperature=0, max_tokens=50))[0]) == 5
    assert len(texts(long, [1, 2, 3], params=SamplingParams(temperature=0, max_tokens=50))[0]) == 50
    with pytest.raises(RequestError, match="at most 8 tokens"):
        short.generate([[1] * 8])
    assert (short.resolved.config.cache.block_size, long.resolved.config.cache.block_size) == (16, 32)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"no_such": 1}, ConfigError, "no_such: unknown setting"),
        ({"dtype": "int3"}, ConfigError, "model.dtype must be one of"),
        ({"max_model_len": 10**6}, ConfigError, f"at most {MAX_POSITIONS} tokens"),
        ({"attention.route": "warp"}, RouteError, "no route is called 'warp'"),
        ({"model.tokenizer": "/nowhere/tokenizer.json"}, CheckpointError, "/nowhere/tokenizer.json: no such file"),
    ],
)
def test_a_bad_setting_is_told_before_anything_runs(
    tiny_model: Path, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        loaded(tiny_model, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"dtype": "float16"},
        {"codec": "fp8"},
        {"codec": "fp8_e5m2", "dtype": "bfloat16"},
        {"codec": "int8"},
        {"codec": "int8_g64", "dtype": "float16"},
    ],
)
def test_narrow_formats_answer(tiny_model: Path, settings: dict[str, Any]) -> None:
    (text,) = texts(loaded(tiny_model, **settings), "the ant")

    assert len(text) >= GREEDY.max_tokens
    assert text.isalpha()


def test_loading_reports_its_progress_to_the_end(tiny_model: Path) -> None:
    seen: list[LoadProgress] = []

    LLM(tiny_model, platform="cpu", environ={}, progress=seen.append)

    assert seen[-1].nbytes == seen[-1].total_nbytes
    assert [state.tensors for state in seen] == list(range(1, seen[-1].total_tensors + 1))


# Prompts


def test_one_prompt_many_and_tokens_are_answered_alike(llm: LLM) -> None:
    ids = llm.tokenizer.encode("the ant")
    (alone,) = texts(llm, "the ant")

    assert llm.generate("the ant", GREEDY)[0].outputs[0].text == alone
    assert llm.generate(ids, GREEDY)[0].outputs[0].text == alone
    assert texts(llm, "an", ids, "the ant") == [*texts(llm, "an"), alone, alone]
    assert llm.generate([], GREEDY) == []


def test_each_prompt_can_have_its_own_parameters(llm: LLM) -> None:
    lengths = [3, 9, 5]

    outputs = llm.generate(["a", "b", "c"], [SamplingParams(temperature=0, max_tokens=n) for n in lengths])

    assert [len(output.outputs[0].token_ids) for output in outputs] == lengths


def test_one_too_many_parameters_is_an_error(llm: LLM) -> None:
    with pytest.raises(RequestError, match="2 prompts and 1 sampling parameters"):
        llm.generate(["a", "b"], [GREEDY])


@pytest.mark.parametrize("bad", [[], TOO_LONG, UNKNOWN_TOKEN])
def test_a_bad_prompt_among_many_is_refused_before_anything_runs(llm: LLM, bad: list[int]) -> None:
    prompts: list[str | list[int]] = ["a", bad, "b"]

    with pytest.raises(RequestError, match=r"^prompt 2 of 3: "):
        llm.generate(prompts, GREEDY)

    assert llm.engine.stats().steps == 0
    assert not llm.engine.has_unfinished


def test_the_sequences_of_a_prompt_share_it(llm: LLM) -> None:
    prompt = [1] * 40

    (output,) = llm.generate(prompt, SamplingParams(temperature=1, seed=1, n=3, max_tokens=8))

    assert [sequence.index for sequence in output.outputs] == [0, 1, 2]
    assert len({sequence.text for sequence in output.outputs}) > 1
    assert output.metrics.cached_tokens == 2 * 32


def test_the_progress_of_a_batch_counts_to_its_end(llm: LLM) -> None:
    seen: list[tuple[int, float]] = []

    llm.generate(["a", "b", "c"], [SamplingParams(max_tokens=n) for n in (1, 2, 3)], lambda *state: seen.append(state))

    assert [finished for finished, _ in seen] == [1, 2, 3]
    assert all(rate > 0 for _, rate in seen)


# Streams


def test_a_stream_says_what_generate_says_piece_by_piece(llm: LLM) -> None:
    outputs = list(llm.stream("the ant", GREEDY))

    assert "".join(output.outputs[0].delta for output in outputs) == texts(llm, "the ant")[0]
    assert [output.finished for output in outputs] == [False] * (len(outputs) - 1) + [True]


def test_a_stream_can_be_left_while_its_prompt_is_computed(tiny_model: Path) -> None:
    llm = loaded(tiny_model, max_num_batched_tokens=16, max_num_seqs=8)
    stream = llm.stream([1] * 100, GREEDY)

    assert next(stream).outputs[0].num_tokens == 0
    stream.close()

    assert llm.engine.stats().steps == 1
    assert held_blocks(llm) == 0


def test_leaving_a_stream_aborts_its_request(llm: LLM) -> None:
    for output in llm.stream("the ant", GREEDY):
        if output.outputs[0].num_tokens == 3:
            break

    assert not llm.engine.has_unfinished
    assert held_blocks(llm) == 0


def test_streams_in_turns_and_a_batch_between_lose_nothing(llm: LLM) -> None:
    expected = texts(llm, "the", "an", "ant")
    first, second = llm.stream("the", GREEDY), llm.stream("an", GREEDY)
    said = {0: "", 1: ""}

    said[0] += next(first).outputs[0].delta
    said[1] += next(second).outputs[0].delta
    assert texts(llm, "ant") == expected[2:]
    for which, stream in ((0, first), (1, second)):
        said[which] += "".join(output.outputs[0].delta for output in stream)

    assert list(said.values()) == expected[:2]


def test_a_stream_is_refused_when_it_is_asked_for(llm: LLM) -> None:
    with pytest.raises(RequestError, match="does not fit"):
        llm.stream(TOO_LONG)


def test_a_stream_that_is_never_read_asks_for_nothing(llm: LLM) -> None:
    llm.stream("the ant", GREEDY)

    assert not llm.engine.has_unfinished


# Conversations


def test_chat_continues_the_rendered_template(llm: LLM) -> None:
    rendered = "<|im_start|>user\nthe ant<|im_end|>\n<|im_start|>assistant\n"

    answer = llm.chat(TALK, GREEDY)

    assert list(answer.prompt_token_ids) == llm.tokenizer.encode(rendered)
    assert answer.outputs[0].text == texts(llm, rendered)[0]


def test_a_model_without_a_template_continues_but_does_not_chat(tmp_path: Path) -> None:
    llm = loaded(write_tiny_checkpoint(tmp_path / "plain", chat_template=""))

    with pytest.raises(RequestError, match="no chat template"):
        llm.chat(TALK)
    assert texts(llm, "the")[0]


# What goes wrong


def test_a_value_that_is_not_finite_ends_its_request_and_names_the_layer(tmp_path: Path) -> None:
    llm = loaded(write_tiny_checkpoint(tmp_path / "broken", broken_layer=1))

    (output,) = llm.generate("the ant", GREEDY)

    sequence = output.outputs[0]
    assert (sequence.finish_reason, sequence.text) == ("error", "")
    assert "layers.1.mlp" in str(sequence.error)
    assert held_blocks(llm) == 0


def batch(llm: LLM) -> object:
    return llm.generate(["the", "an", "ant"], GREEDY)


def stream(llm: LLM) -> object:
    return list(llm.stream("the", GREEDY))


@pytest.mark.parametrize("ask", [batch, stream])
@pytest.mark.parametrize("steps", [0, 4])
def test_an_interrupt_in_the_middle_of_a_step_leaves_the_model_usable(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, ask: Callable[[LLM], object], steps: int
) -> None:
    expected = texts(llm, "the", "an", "ant")
    fail_in_forward(monkeypatch, KeyboardInterrupt(), steps)

    with pytest.raises(KeyboardInterrupt):
        ask(llm)

    assert held_blocks(llm) == 0
    assert not llm.engine.has_unfinished
    assert texts(llm, "the", "an", "ant") == expected


def test_a_batch_that_fails_leaves_the_streams_of_others(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    (expected,) = texts(llm, "the")
    stream = llm.stream("the", GREEDY)
    said = next(stream).outputs[0].delta
    fail_in_forward(monkeypatch, RuntimeError("the device is gone"))

    with pytest.raises(RuntimeError, match="the device is gone"):
        llm.generate(["an", "ant"], GREEDY)

    assert said + "".join(output.outputs[0].delta for output in stream) == expected


def test_a_request_that_is_aborted_from_outside_ends_a_batch(llm: LLM) -> None:
    def give_up(_finished: int, _rate: float) -> None:
        llm.engine.abort_all()

    outputs = llm.generate(["a", "b"], [SamplingParams(max_tokens=n) for n in (1, 1000)], give_up)

    assert [output.outputs[0].finish_reason for output in outputs] == ["length", "abort"]


@pytest.mark.real_model
def test_the_packaged_model_answers_a_question(smollm2: Path) -> None:
    llm = LLM(platform="cpu", environ={})

    answer = llm.chat([{"role": "user", "content": "What is the capital of France?"}], GREEDY)

    assert llm.resolved.config.model.path == str(smollm2)
    assert "Paris" in answer.outputs[0].text
    assert answer.outputs[0].finish_reason == "stop"
