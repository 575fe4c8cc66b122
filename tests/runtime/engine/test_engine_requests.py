"""The whole engine over a stub model: what callers see, against what the model says on its own."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from stub_model import EOS, VOCABULARY, LetterTokenizer, StubModel, cpu, engine_of

from runtime.config import CacheConfig, RuntimeConfig
from runtime.engine.engine import Engine
from runtime.engine.outputs import RequestOutput
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import ConfigError, RequestError

GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)


def finish_all(engine: Engine) -> dict[str, RequestOutput]:
    """Run to the end; return each request's last snapshot."""
    last: dict[str, RequestOutput] = {}
    for _ in range(10_000):
        if not engine.has_unfinished:
            return last
        for output in engine.step():
            last[output.request_id] = output
    raise AssertionError("the engine makes no progress")


def prompts(count: int, seed: int = 0, longest: int = 40) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.randrange(EOS) for _ in range(chance.randint(1, longest))] for _ in range(count)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_num_batched_tokens": 7, "max_num_seqs": 4},
        {"prefill_chunk": 3},
        {"chunked_prefill": False, "max_num_batched_tokens": 64},
        {"prefix_caching": False},
        {"num_blocks": 14},
        {"num_blocks": 14, "policy": "priority"},
        {"block_size": 1, "num_blocks": 60},
    ],
    ids=str,
)
def test_every_schedule_gives_what_the_model_says_alone(options: dict[str, object]) -> None:
    model = StubModel()
    engine = engine_of(model, **options)
    expected = {}
    for number, prompt in enumerate(prompts(12)):
        request_id = engine.add_request(prompt, GREEDY, priority=-number)
        expected[request_id] = model.greedy_alone(prompt, GREEDY.max_tokens)
    outputs = finish_all(engine)
    assert {name: output.outputs[0].token_ids for name, output in outputs.items()} == expected
    assert engine.stats().available_blocks == engine.stats().num_blocks


def test_a_small_pool_preempts_and_the_output_stays_the_same() -> None:
    model = StubModel()
    engine = engine_of(model, num_blocks=10)
    names = [engine.add_request([letter] * 6, GREEDY) for letter in range(4)]
    outputs = finish_all(engine)
    assert engine.stats().preemptions > 0
    assert sum(output.metrics.preemptions for output in outputs.values()) == engine.stats().preemptions
    for letter, name in enumerate(names):
        assert outputs[name].outputs[0].token_ids == model.greedy_alone([letter] * 6, 12)


def test_a_seeded_request_samples_the_same_alone_in_a_crowd_and_after_preemption() -> None:
    params = SamplingParams(seed=7, max_tokens=20, ignore_eos=True)

    def answer(crowd: int, num_blocks: int) -> list[int]:
        engine = engine_of(StubModel(), num_blocks=num_blocks)
        for prompt in prompts(crowd, seed=1, longest=12):
            engine.add_request(prompt, SamplingParams(max_tokens=20, ignore_eos=True))
        name = engine.add_request([3, 1, 4, 1, 5], params)
        return list(finish_all(engine)[name].outputs[0].token_ids)

    alone = answer(0, 64)
    assert answer(8, 64) == alone
    assert answer(8, 13) == alone


def test_requests_without_a_seed_differ_from_each_other_but_not_from_run_to_run() -> None:
    def answers() -> list[list[int]]:
        engine = engine_of(StubModel())
        names = [engine.add_request([1, 2], SamplingParams(ignore_eos=True)) for _ in range(3)]
        outputs = finish_all(engine)
        return [list(outputs[name].outputs[0].token_ids) for name in names]

    first = answers()
    assert first == answers()
    assert len(set(map(tuple, first))) == 3


def test_deltas_add_up_to_the_text_and_snapshots_do_not_change_afterwards() -> None:
    engine = engine_of(StubModel(), LetterTokenizer())
    engine.add_request("hello", GREEDY)
    seen = []
    while engine.has_unfinished:
        (output,) = engine.step()
        seen.append((output.outputs[0], list(output.outputs[0].token_ids), output.outputs[0].text))
    text = ""
    for number, (completion, tokens, cumulative) in enumerate(seen, start=1):
        text += completion.delta
        assert cumulative == text
        assert len(tokens) == number
        assert completion.token_ids == tokens
    assert text == LetterTokenizer().decode(seen[-1][1])
    assert seen[-1][0].finish_reason == "length"


def test_a_stop_string_ends_the_output_before_it() -> None:
    free = engine_of(StubModel(), LetterTokenizer())
    name = free.add_request("abc", GREEDY)
    text = finish_all(free)[name].outputs[0].text
    engine = engine_of(StubModel(), LetterTokenizer())
    name = engine.add_request("abc", SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True, stop=(text[4:6],)))
    output = finish_all(engine)[name].outputs[0]
    assert output.text == text[: text.index(text[4:6])]
    assert (output.finish_reason, output.stop_reason) == ("stop", text[4:6])


def test_text_held_back_for_a_stop_string_is_given_out_at_the_end() -> None:
    free = engine_of(StubModel(), LetterTokenizer())
    name = free.add_request("abc", GREEDY)
    text = finish_all(free)[name].outputs[0].text
    engine = engine_of(StubModel(), LetterTokenizer())
    params = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True, stop=(text[-3:] + "!",))
    name = engine.add_request("abc", params)
    assert finish_all(engine)[name].outputs[0].text == text


def test_a_request_that_reaches_the_models_length_ends_with_length() -> None:
    engine = engine_of(StubModel(), max_model_len=10)
    name = engine.add_request([1] * 6, SamplingParams(temperature=0.0, max_tokens=100, ignore_eos=True))
    output = finish_all(engine)[name].outputs[0]
    assert len(output.token_ids) == 4
    assert output.finish_reason == "length"


def test_a_request_that_fills_the_pool_ends_with_length() -> None:
    model = StubModel()
    engine = engine_of(model, num_blocks=2, block_size=4)
    name = engine.add_request([1] * 8, SamplingParams(temperature=0.0, max_tokens=100, ignore_eos=True))
    other = engine.add_request([2] * 3, SamplingParams(temperature=0.0, max_tokens=100, ignore_eos=True))
    outputs = finish_all(engine)
    assert outputs[name].outputs[0].token_ids == model.greedy_alone([1] * 8, 1)
    assert outputs[other].outputs[0].token_ids == model.greedy_alone([2] * 3, 6)
    assert outputs[other].outputs[0].finish_reason == "length"


@pytest.mark.parametrize(
    ("prompt", "params", "reason"),
    [
        ([], GREEDY, "no tokens"),
        ([1, 99], GREEDY, "token 1 of the prompt is 99; the model knows 0 to 28"),
        ([-1], GREEDY, "token 0 of the prompt is -1"),
        ([1.5], GREEDY, "whole numbers"),
        ([1] * 16, GREEDY, "attends to at most 16 tokens"),
        ([1] * 15, SamplingParams(min_tokens=2), "15 tokens with 2 more"),
        ("text", GREEDY, "no tokenizer"),
        ([1], SamplingParams(stop=("x",)), "stop"),
    ],
)
def test_what_can_never_be_served_is_refused_at_once(prompt: list[int], params: SamplingParams, reason: str) -> None:
    engine = engine_of(StubModel(), max_model_len=16)
    with pytest.raises(RequestError, match=reason):
        engine.add_request(prompt, params)
    assert not engine.has_unfinished


def test_a_prompt_larger_than_the_pool_is_refused_and_the_pool_is_named() -> None:
    engine = engine_of(StubModel(), num_blocks=3, block_size=4)
    with pytest.raises(RequestError, match=r"3 blocks of 4 tokens \(cache.num_blocks\)"):
        engine.add_request([1] * 13, GREEDY)
    engine.add_request([1] * 12, GREEDY)


def test_whole_prompts_must_fit_into_one_step() -> None:
    engine = engine_of(StubModel(), chunked_prefill=False, max_num_batched_tokens=8)
    with pytest.raises(RequestError, match=r"scheduler.max_num_batched_tokens"):
        engine.add_request([1] * 9, GREEDY)
    model = StubModel()
    name = engine.add_request([1] * 8, GREEDY)
    assert finish_all(engine)[name].outputs[0].token_ids == model.greedy_alone([1] * 8, 1)


@pytest.mark.parametrize("label", [{"request_id": 3}, {"priority": "high"}, {"cache_salt": b"salt"}], ids=str)
def test_labels_of_the_wrong_type_are_refused(label: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=f"{next(iter(label))} = .*: it must be of type"):
        engine_of(StubModel()).add_request([1], GREEDY, **label)


def test_a_step_that_raises_loses_nothing() -> None:
    model = StubModel()
    engine = engine_of(model)
    name = engine.add_request([1, 2, 3], GREEDY)
    engine.step()
    whole, model.logits = model.logits, lambda hidden: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(ZeroDivisionError):
        engine.step()
    model.logits = whole  # type: ignore[method-assign]
    assert finish_all(engine)[name].outputs[0].token_ids == model.greedy_alone([1, 2, 3], 12)


def test_an_id_can_be_used_again_only_once_its_request_is_finished() -> None:
    engine = engine_of(StubModel())
    engine.add_request([1], GREEDY, request_id="mine")
    with pytest.raises(RequestError, match="'mine' is in use"):
        engine.add_request([2], GREEDY, request_id="mine")
    finish_all(engine)
    engine.add_request([2], GREEDY, request_id="mine")


def test_a_full_queue_refuses() -> None:
    engine = engine_of(StubModel(), max_waiting=2)
    engine.add_request([1], SamplingParams(n=2))
    with pytest.raises(RequestError, match=r"scheduler.max_waiting = 2"):
        engine.add_request([1], GREEDY)


def test_more_length_than_the_model_has_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"model.max_model_len = 300"):
        engine_of(StubModel(max_positions=256), max_model_len=300)


def test_abort_frees_the_blocks_and_leaves_the_others_alone() -> None:
    model = StubModel()
    engine = engine_of(model)
    kept = engine.add_request([1, 2, 3], GREEDY)
    dropped = engine.add_request([4, 5, 6], GREEDY)
    for _ in range(3):
        engine.step()
    final = engine.abort(dropped)
    assert final is not None
    assert final.finished
    assert final.outputs[0].finish_reason == "abort"
    assert final.outputs[0].token_ids == model.greedy_alone([4, 5, 6], 3)
    assert engine.abort(dropped) is None
    outputs = finish_all(engine)
    assert outputs.keys() == {kept}
    assert outputs[kept].outputs[0].token_ids == model.greedy_alone([1, 2, 3], 12)
    assert engine.stats().available_blocks == engine.stats().num_blocks


def test_sequences_of_one_prompt_compute_it_once_and_differ() -> None:
    engine = engine_of(StubModel())
    name = engine.add_request([5] * 33, SamplingParams(n=4, seed=3, max_tokens=8, ignore_eos=True))
    output = finish_all(engine)[name]
    assert [completion.index for completion in output.outputs] == [0, 1, 2, 3]
    assert len({tuple(completion.token_ids) for completion in output.outputs}) == 4
    assert engine.stats().cached_tokens == 3 * 32
    assert output.metrics.cached_tokens == 3 * 32


def test_prompt_logprobs_do_not_keep_the_other_sequences_from_sharing_the_prompt() -> None:
    engine = engine_of(StubModel())
    name = engine.add_request([5] * 33, SamplingParams(n=3, prompt_logprobs=0))
    output = finish_all(engine)[name]
    assert len(output.prompt_logprobs or ()) == 33
    assert engine.stats().cached_tokens == 2 * 32


def test_a_known_prefix_is_not_computed_again_but_its_last_token_is() -> None:
    model = StubModel()
    engine = engine_of(model)
    prompt = [7] * 32
    engine.add_request(prompt, GREEDY)
    finish_all(engine)
    name = engine.add_request(prompt, GREEDY)
    output = finish_all(engine)[name]
    assert output.metrics.cached_tokens == 28
    assert output.outputs[0].token_ids == model.greedy_alone(prompt, 12)


def test_different_salts_share_nothing() -> None:
    engine = engine_of(StubModel())
    for salt in ("alice", "bob"):
        engine.add_request([7] * 32, GREEDY, cache_salt=salt)
        finish_all(engine)
    assert engine.stats().cached_tokens == 0


def test_priority_serves_smaller_numbers_first() -> None:
    engine = engine_of(StubModel(), policy="priority", max_num_seqs=1)
    late = engine.add_request([1], GREEDY, priority=5)
    soon = engine.add_request([2], GREEDY, priority=1)
    order = []
    while engine.has_unfinished:
        order += [output.request_id for output in engine.step() if output.finished]
    assert order == [soon, late]


@pytest.mark.parametrize("options", [{}, {"max_num_batched_tokens": 5}, {"num_blocks": 8}, {"prefill_chunk": 2}])
def test_logprobs_are_those_of_the_model(options: dict[str, int]) -> None:
    model = StubModel()
    engine = engine_of(model, **options)
    prompt = [3, 1, 4, 1, 5, 9, 2, 6]
    engine.add_request(prompt, GREEDY)
    finish_all(engine)  # a cached prefix must not swallow prompt log probabilities
    params = SamplingParams(temperature=0.0, max_tokens=12, logprobs=2, prompt_logprobs=1, ignore_eos=True)
    names = [engine.add_request([*prompt, last], params) for last in range(3)]
    outputs = finish_all(engine)
    assert (engine.stats().preemptions > 0) == ("num_blocks" in options)
    for last, name in enumerate(names):
        output = outputs[name]
        context = [*prompt, last, *output.outputs[0].token_ids]
        found = [*(output.prompt_logprobs or []), *(output.outputs[0].logprobs or [])]
        assert len(found) == len(context)
        assert found[0] is None
        for place in range(1, len(context)):
            entry = found[place]
            assert entry is not None
            expected = torch.log_softmax(model.logits_alone(context[:place]), -1)[context[place]]
            assert entry.token_id == context[place]
            assert entry.logprob == pytest.approx(float(expected), abs=1e-4)


def test_a_value_that_is_not_finite_fails_its_own_request_and_names_the_layer() -> None:
    model = StubModel()
    model.embedding[9] = torch.inf
    engine = engine_of(model, max_num_batched_tokens=6)
    good = engine.add_request([1, 2, 3], GREEDY)
    bad = engine.add_request([1, 2, 3, 9, *[4] * 20], GREEDY)  # many steps before its logits are wanted
    outputs = finish_all(engine)
    assert outputs[good].outputs[0].token_ids == model.greedy_alone([1, 2, 3], 12)
    failed = outputs[bad].outputs[0]
    assert failed.finish_reason == "error"
    assert failed.error is not None
    assert failed.error.startswith("embedding: ")
    assert failed.token_ids == []
    assert engine.stats().available_blocks == engine.stats().num_blocks


def test_logits_that_are_not_finite_are_named() -> None:
    model = StubModel()
    model.head[:, 3] = torch.nan
    engine = engine_of(model)
    name = engine.add_request([1], GREEDY)
    assert (finish_all(engine)[name].outputs[0].error or "").startswith("logits: ")


def test_banning_every_token_is_an_error_of_the_request() -> None:
    engine = engine_of(StubModel(), LetterTokenizer())
    space = VOCABULARY.index(" ")
    words = tuple(VOCABULARY.replace(" ", ""))
    params = SamplingParams(temperature=0.0, bad_words=words, stop_token_ids=(space,), min_tokens=3)
    name = engine.add_request("a", params)
    output = finish_all(engine)[name].outputs[0]
    assert output.finish_reason == "error"
    assert "banned" in (output.error or "")


def test_memory_decides_the_number_of_blocks() -> None:
    per_block = 2 * 16 * 8 * 4
    config = RuntimeConfig(cache=CacheConfig(memory_bytes=5 * per_block + 1))
    assert Engine(StubModel(), None, config, cpu()).stats().num_blocks == 5
    roomy = RuntimeConfig(cache=CacheConfig(memory_bytes=2**40))
    assert Engine(StubModel(), None, roomy, cpu()).stats().num_blocks == 64 * 256 // 16
    with pytest.raises(ConfigError, match="holds no KV block"):
        Engine(StubModel(), None, RuntimeConfig(cache=CacheConfig(memory_bytes=100)), cpu())
    with pytest.raises(ConfigError, match=r"cache\.num_blocks: the KV cache would take \d+ bytes"):
        Engine(StubModel(), None, RuntimeConfig(cache=CacheConfig(num_blocks=10**9)), cpu())
