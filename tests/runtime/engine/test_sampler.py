"""The next token is the one that the pipeline of `transformers` would give for the same random number, in any batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    MinPLogitsWarper,
    NoBadWordsLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from runtime.engine.logprobs import TokenLogprobs
from runtime.engine.sampler import NO_TOKEN, SampledBatch, Sampler
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.sampling_row import SamplingRow
from runtime.engine.tokenizer import TokenStream
from runtime.errors import RequestError

VOCAB = 600
EOS = 2


class Letters:
    """A tokenizer for the letters a to z, tokens 10 to 35; a space belongs to the letter that follows: 40 to 65."""

    vocab_size = VOCAB
    eos_ids = frozenset({EOS})
    bos_id: int | None = None

    def encode(self, text: str, add_special: bool = True) -> list[int]:
        spaced = [before == " " for before in "x" + text]
        pairs = zip(text, spaced, strict=False)
        return [ord(letter) - ord("a") + (40 if space else 10) for letter, space in pairs if letter != " "]

    def decode(self, ids: Sequence[int], skip_special: bool = True) -> str:
        raise NotImplementedError

    def stream(self, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> TokenStream:
        raise NotImplementedError

    def token_bytes(self, token_id: int) -> bytes:
        raise NotImplementedError


def row_of(
    params: SamplingParams, prompt: Sequence[int] = (7, 8), output: Sequence[int] = (), index: int = 0
) -> SamplingRow:
    return SamplingRow(params, list(prompt), list(output), vocab_size=VOCAB, tokenizer=Letters(), index=index)


def random_logits(rows: int, seed: int = 0, spread: float = 2.0) -> torch.Tensor:
    return torch.randn(rows, VOCAB, generator=torch.Generator().manual_seed(seed)) * spread


def sample(logits: torch.Tensor, rows: Sequence[SamplingRow]) -> SampledBatch:
    with torch.inference_mode():
        return Sampler().sample(logits, rows)


def oracle(logits: torch.Tensor, params: SamplingParams, prompt: list[int], output: list[int]) -> int:
    """The token that `transformers` leads to, in the order that `SamplingParams` documents."""
    bans = LogitsProcessorList()
    if params.min_tokens:
        bans.append(
            MinNewTokensLengthLogitsProcessor(0, params.min_tokens, [EOS, *params.stop_token_ids], device="cpu")
        )
    if params.bad_words:
        words = [Letters().encode(prefix + word) for word in params.bad_words for prefix in ("", " ")]
        bans.append(NoBadWordsLogitsProcessor(words))
    scores = logits[None].double()
    history: Any = torch.tensor([prompt + output])
    generated: Any = torch.tensor([output])
    if params.logit_bias:
        bias: Any = {(token,): float(value) for token, value in params.logit_bias.items()}
        scores = SequenceBiasLogitsProcessor(bias)(history, scores.float()).double()
    scores = RepetitionPenaltyLogitsProcessor(float(params.repetition_penalty))(history, scores)
    counts = torch.bincount(generated[0], minlength=VOCAB)
    scores = scores - params.frequency_penalty * counts - params.presence_penalty * (counts > 0)
    scores = bans(generated, scores.float()).double()
    if params.greedy:
        return int(scores.argmax())
    warpers = LogitsProcessorList([TemperatureLogitsWarper(float(params.temperature))])
    if params.min_p:
        warpers.append(MinPLogitsWarper(params.min_p))
    if params.top_k > 0:
        warpers.append(TopKLogitsWarper(params.top_k))
    if params.top_p < 1:
        warpers.append(TopPLogitsWarper(params.top_p))
    reached = warpers(history, scores)[0].softmax(0).cumsum(0).numpy()
    raw = np.random.Philox(key=np.array([params.seed, 0], dtype=np.uint64)).random_raw(len(output) + 1)[-1]
    return int(np.searchsorted(reached, (int(raw) >> 12) / 2**52 * reached[-1], side="right"))


CASES: list[dict[str, Any]] = [
    {},
    {"temperature": 0.3},
    {"temperature": 1.7, "top_k": 30},
    {"top_p": 0.8},
    {"top_k": 100, "top_p": 0.9},
    {"min_p": 0.1},
    {"min_p": 0.02, "top_k": 90, "top_p": 0.95, "temperature": 0.8},
    {"repetition_penalty": 1.8},
    {"repetition_penalty": 0.6, "temperature": 0},
    {"presence_penalty": 1.5, "frequency_penalty": 0.7},
    {"presence_penalty": -2, "frequency_penalty": -1, "temperature": 0},
    {"logit_bias": {3: 7.0, 9: -100, 100: 6.5}},
    {"logit_bias": {3: 9.0, 11: 9.5}, "temperature": 0},
    {"bad_words": ["a", "bc", "cab"], "logit_bias": {10: 9, 40: 9, 12: 9.5, 42: 9, 11: 8.9, 41: 8.5}},
    {"bad_words": ["a", "bc", "cab"], "logit_bias": {10: 9, 12: 9.5, 42: 9.2, 11: 8.9}, "temperature": 0},
    {"min_tokens": 9, "stop_token_ids": [5, 6], "logit_bias": {EOS: 9, 5: 9, 6: 9}},
    {"min_tokens": 9, "stop_token_ids": [5, 6], "logit_bias": {EOS: 9, 5: 9, 6: 9}, "temperature": 0},
    {
        "logit_bias": {10: 8, 3: 2}, "repetition_penalty": 1.2, "presence_penalty": 0.5, "frequency_penalty": 0.3,
        "min_tokens": 8, "bad_words": ["ab"], "temperature": 0.9, "min_p": 0.001, "top_k": 200, "top_p": 0.99,
    },
]  # fmt: skip


def case(number: int, position: int) -> tuple[SamplingParams, list[int], list[int]]:
    """Parameters, prompt and an output of six tokens or more, without which the oracle's bad words do not act."""
    random = np.random.default_rng([number, position])
    prompt = random.integers(10, 40, 12).tolist()
    output = random.choice([7, 10, 11, 12, 40, 41, 42, 50], 6 + position).tolist()
    return SamplingParams(**{"max_tokens": 99, "seed": 100 * number + position} | CASES[number]), prompt, output


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: str(CASES[number]))
def test_a_token_is_the_one_that_transformers_leads_to(number: int) -> None:
    for position in range(40):
        params, prompt, output = case(number, position)
        logits = random_logits(1, seed=position)
        assert sample(logits, [row_of(params, prompt, output)]).tokens == [oracle(logits[0], params, prompt, output)]


def test_a_row_gives_the_same_alone_as_in_a_mixed_batch_of_any_order() -> None:
    cases = [case(number, position) for number in range(len(CASES)) for position in range(3)]
    logits = random_logits(len(cases), seed=5)
    alone = [sample(logits[row : row + 1], [row_of(*each)]).tokens[0] for row, each in enumerate(cases)]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(cases)).tolist()
        together = sample(logits[order], [row_of(*cases[row]) for row in order])
        assert together.tokens == [alone[row] for row in order]


def generate(row: SamplingRow, steps: range) -> None:
    for step in steps:
        row.output_ids.append(sample(random_logits(1, seed=step), [row]).tokens[0])


@pytest.mark.parametrize(
    "params", [{}, {"repetition_penalty": 1.5, "frequency_penalty": 1.0}, {"min_tokens": 70}], ids=str
)
def test_a_sequence_goes_on_the_same_after_a_preemption(params: dict[str, Any]) -> None:
    shared = SamplingParams(max_tokens=99, seed=3, **params)
    whole, first = row_of(shared), row_of(shared)
    generate(whole, range(80))
    generate(first, range(70))
    resumed = row_of(shared, output=first.output_ids)
    generate(resumed, range(70, 80))
    assert resumed.output_ids == whole.output_ids


def test_sequences_of_a_request_differ_and_repeat_with_their_seed() -> None:
    def run(seed: int | None) -> list[list[int]]:
        rows = [row_of(SamplingParams(seed=seed, n=3), index=index) for index in range(3)]
        for row in rows:
            generate(row, range(20))
        return [row.output_ids for row in rows]

    assert run(11) == run(11)
    assert len({tuple(output) for output in run(11) + run(12) + run(None) + run(None)}) == 12


@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 0},
        {"top_k": 1},
        {"top_p": 0.5},
        {"min_p": 0.5, "top_k": 2000, "top_p": 0.9},
        {"repetition_penalty": 2.0, "presence_penalty": 1.0, "logit_bias": {0: -3.0}, "top_p": 0.5},
    ],
    ids=str,
)
def test_a_vocabulary_of_one_has_one_token_which_is_certain(params: dict[str, Any]) -> None:
    rows = [
        SamplingRow(
            SamplingParams(logprobs=1, seed=seed, **params), [0], [], vocab_size=1, tokenizer=Letters(), index=0
        )
        for seed in range(4)
    ]
    found = sample(random_logits(4)[:, :1].contiguous(), rows)
    assert found.tokens == [0] * 4
    assert found.logprobs == [TokenLogprobs(0, 0.0, 1, ((0, 0.0),))] * 4


def test_a_greedy_batch_takes_the_first_of_the_highest() -> None:
    logits = torch.zeros(2, VOCAB)
    logits[0, 5] = logits[0, 9] = 1.0
    rows = [row_of(SamplingParams(temperature=0)) for _ in range(2)]
    assert sample(logits, rows) == SampledBatch([5, 0], [None, None])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "params", [{"temperature": 0}, {}, {"temperature": 0, "top_k": 3, "logit_bias": {0: -100}}, {"top_p": 0.9}]
)
def test_a_row_that_is_not_finite_gives_no_token_and_leaves_others_alone(bad: float, params: dict[str, Any]) -> None:
    logits = random_logits(3)
    expected = sample(logits, [row_of(SamplingParams(seed=row, logprobs=1, **params)) for row in range(3)])
    logits[1, 17] = bad
    found = sample(logits, [row_of(SamplingParams(seed=row, logprobs=1, **params)) for row in range(3)])
    assert found.tokens == [expected.tokens[0], NO_TOKEN, expected.tokens[2]]
    assert found.logprobs == [expected.logprobs[0], None, expected.logprobs[2]]


def test_a_ban_does_not_hide_a_nan() -> None:
    logits = random_logits(1)
    logits[0, EOS] = float("nan")
    assert sample(logits, [row_of(SamplingParams(temperature=0, min_tokens=1))]).tokens == [NO_TOKEN]


@pytest.mark.parametrize("temperature", [0, 1, 1000])
def test_a_row_whose_tokens_are_all_out_gives_no_token(temperature: float) -> None:
    logits = torch.full((1, VOCAB), -torch.inf)
    logits[0, EOS] = 0
    row = row_of(SamplingParams(temperature=temperature, min_tokens=1))
    assert sample(logits, [row]).tokens == [NO_TOKEN]
    row.output_ids.append(9)
    assert sample(logits, [row]).tokens == [EOS]


@pytest.mark.parametrize("temperature", [1e-5, 1e-3, 1000])
def test_extreme_temperatures_give_the_likeliest_or_any_token(temperature: float) -> None:
    logits = random_logits(50, spread=100)
    tokens = sample(logits, [row_of(SamplingParams(temperature=temperature, seed=row)) for row in range(50)]).tokens
    likeliest = logits.argmax(1).tolist()
    assert tokens == likeliest if temperature < 1 else len(set(tokens)) > 40


def test_logits_stay_as_they_are() -> None:
    logits = random_logits(len(CASES))
    before = logits.clone()
    sample(logits, [row_of(*case(number, 0)) for number in range(len(CASES))])
    assert torch.equal(logits, before)


def test_logprobs_are_those_of_the_raw_logits() -> None:
    logits = random_logits(4)
    counts = [0, 5, None, 20]
    changed = {"logit_bias": {4: 50.0}, "temperature": 0.1, "repetition_penalty": 1.5}
    found = sample(logits, [row_of(SamplingParams(logprobs=count, **changed)) for count in counts])  # type: ignore[arg-type]
    expected = torch.log_softmax(logits.double(), 1)
    for row, (count, entry) in enumerate(zip(counts, found.logprobs, strict=True)):
        if count is None:
            assert entry is None
            continue
        assert entry is not None
        assert entry.token_id == found.tokens[row]
        assert entry.logprob == pytest.approx(float(expected[row, entry.token_id]), abs=1e-5)
        assert entry.rank == 1 + int((expected[row] > expected[row, entry.token_id]).sum())
        best = expected[row].topk(count)
        assert [token for token, _ in entry.top] == best.indices.tolist()
        assert [logprob for _, logprob in entry.top] == pytest.approx(best.values.tolist(), abs=1e-5)


def test_more_logprobs_than_tokens_are_all_of_them() -> None:
    row = SamplingRow(SamplingParams(temperature=0, logprobs=20), [1], [], vocab_size=5)
    entry = sample(torch.arange(5.0)[None], [row]).logprobs[0]
    assert entry is not None
    assert [token for token, _ in entry.top] == [4, 3, 2, 1, 0]


def test_a_bias_for_a_token_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^logit_bias\[600\]: the model has tokens 0 to 599 only$"):
        row_of(SamplingParams(logit_bias={600: 1.0}))


def test_bad_words_need_a_tokenizer_and_letters() -> None:
    with pytest.raises(RequestError, match="without a tokenizer"):
        SamplingRow(SamplingParams(bad_words=["a"]), [1], [], vocab_size=VOCAB)
    with pytest.raises(RequestError, match="not only space"):
        row_of(SamplingParams(bad_words=[" "]))


def test_stop_tokens_beyond_the_vocabulary_do_no_harm() -> None:
    row = row_of(SamplingParams(temperature=0, min_tokens=2, stop_token_ids=[10**6]))
    assert sample(random_logits(1), [row]).tokens[0] != NO_TOKEN


def test_an_ignored_end_token_may_come_before_min_tokens() -> None:
    logits = random_logits(1)
    logits[0, EOS] = 99.0
    assert sample(logits, [row_of(SamplingParams(temperature=0, min_tokens=5, ignore_eos=True))]).tokens == [EOS]
    assert sample(logits, [row_of(SamplingParams(temperature=0, min_tokens=5))]).tokens != [EOS]
