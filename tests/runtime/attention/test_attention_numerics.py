"""Attention over a paged cache equals its formula, however requests are chunked, batched and laid out.

Every cache starts as NaN, so a slot that must not be read shows in the output.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
import torch
from attention_oracle import attend, poisoned_attention
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.declarations import LayerShape
from runtime.kernels.reference import paged_attention

CODECS = ("fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head")


@dataclass
class Sequence:
    """A request as the oracle sees it: its blocks, how long it will get, and all that it has put into the cache."""

    blocks: list[int]
    total: int
    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    done: int = 0


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def deal_blocks(rng: random.Random, lengths: list[int], block_size: int) -> list[Sequence]:
    """Block tables for requests: in one piece, in two, or scattered, with unused blocks between them."""
    sequences, free = [], 0
    for total in lengths:
        count = -(-total // block_size)
        blocks = list(range(free, free + count))
        free += count + rng.randint(0, 2)
        if rng.random() < 0.5:
            cut = rng.randint(0, count)
            blocks = blocks[cut:] + blocks[:cut]
        if rng.random() < 0.3:
            rng.shuffle(blocks)
        sequences.append(Sequence(blocks, total))
    return sequences


def run_step(
    attention: Attention, layers: list[LayerShape], step: list[tuple[Sequence, int]], seed: int, dtype: torch.dtype
) -> None:
    """Run one step of (request, rows) on every layer and compare each row with the oracle."""
    batch = AttentionBatch.build(
        [sequence.blocks for sequence, _ in step],
        [sequence.done for sequence, _ in step],
        [length for _, length in step],
        attention.cache.block_size,
    )
    attention.begin(batch)
    rows = batch.query_starts[-1]
    for layer, shape in enumerate(layers):
        heads = (shape.num_heads, shape.num_kv_heads, shape.num_kv_heads)
        joint = normal(seed + layer, rows, sum(heads), shape.head_dim).to(dtype)
        query, key, value = joint.split(heads, 1)
        out = attention.forward(layer, query, key, value)
        assert out.dtype is dtype
        codec, pages = attention.cache.codec, attention.cache.pages(layer)
        read_key = codec.decode(codec.encode(key, pages.k_scale), pages.k_scale, torch.float32)
        read_value = codec.decode(codec.encode(value, pages.v_scale), pages.v_scale, torch.float32)
        for request, (sequence, _) in enumerate(step):
            own = slice(batch.query_starts[request], batch.query_starts[request + 1])
            if layer == len(sequence.keys):
                sequence.keys.append(read_key[own])
                sequence.values.append(read_value[own])
            else:
                sequence.keys[layer] = torch.cat((sequence.keys[layer], read_key[own]))
                sequence.values[layer] = torch.cat((sequence.values[layer], read_value[own]))
            wanted = attend(shape, query[own], sequence.keys[layer], sequence.values[layer])
            torch.testing.assert_close(
                out[own], wanted.to(dtype), rtol=2e-3, atol=2e-3 if dtype.itemsize == 2 else 2e-5
            )
    for sequence, length in step:
        sequence.done += length


@pytest.mark.parametrize("seed", range(60))
def test_any_mix_of_requests_is_attended_as_the_formula_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(paged_attention, "QUERY_TILE", rng.choice([3, paged_attention.QUERY_TILE]))
    codec, block_size = rng.choice(CODECS), rng.choice([1, 4, 16])
    head_dims = [16, 80] if codec.startswith("int8") else [4, 8, 16]
    kv_heads, group, head_dim = rng.choice([1, 2, 3]), rng.choice([1, 2, 3, 4]), rng.choice(head_dims)
    layers = [
        LayerShape(
            kv_heads * group,
            kv_heads,
            head_dim,
            rng.choice([0.3, 1.0]),
            rng.choice([None, 1, 3, 8, 100]),
            rng.choice([None, 1.5]),
        )
        for _ in range(2)
    ]
    scaled = codec.startswith("fp8")
    sequences = deal_blocks(rng, [rng.randint(1, 40) for _ in range(rng.randint(1, 5))], block_size)
    num_blocks = 3 + max(block for sequence in sequences for block in sequence.blocks)
    attention = poisoned_attention(
        layers,
        num_blocks,
        block_size,
        codec=codec,
        k_scale=0.5 if scaled else 1.0,
        v_scale=0.02 if scaled else 1.0,
        dtype=torch.float32,
    )
    steps = 0
    while running := [sequence for sequence in sequences if sequence.done < sequence.total]:
        chosen = rng.sample(running, rng.randint(1, len(running)))
        longest = rng.choice([1, 4, 40])
        step = [(sequence, rng.randint(1, min(longest, sequence.total - sequence.done))) for sequence in chosen]
        run_step(attention, layers, step, 1000 * seed + 10 * steps, torch.float32)
        steps += 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_computes_in_float32_and_answers_in_its_own_dtype(dtype: torch.dtype) -> None:
    layers = [LayerShape(4, 2, 16, 0.25)]
    attention = poisoned_attention(layers, 8, 4, dtype=dtype)
    first, second, third = Sequence([1, 2], 8), Sequence([5, 3], 8), Sequence([6], 4)
    for seed, lengths in enumerate([(1, 3, 1), (1, 1, 1), (3, 1, 2)]):
        run_step(attention, layers, list(zip((first, second, third), lengths, strict=True)), seed, dtype)


def test_scores_beyond_half_precision_are_no_trouble() -> None:
    layers = [LayerShape(2, 1, 64, 1.0)]
    attention = poisoned_attention(layers, 2, 4, dtype=torch.float16)
    attention.begin(AttentionBatch.build([[0]], [0], [3], 4))
    large = torch.full((3, 2, 64), 200.0, dtype=torch.float16)
    out = attention.forward(0, large, large[:, :1], large[:, :1])
    assert torch.equal(out, large)


def test_a_long_prompt_in_chunks_equals_the_prompt_at_once() -> None:
    total = paged_attention.QUERY_TILE * 6 + 88
    for shape in (
        LayerShape(2, 1, 8, 0.3),
        LayerShape(2, 1, 8, 0.3, window=600),
        LayerShape(2, 1, 8, 0.3, softcap=2.0),
    ):
        query, key, value = normal(1, total, 2, 8), normal(2, total, 1, 8), normal(3, total, 1, 8)
        answers = []
        for chunks in ([total], [total // 2, total - total // 2], [1, 700, total - 701]):
            attention, start, parts = poisoned_attention([shape], 80, 16), 0, []
            for length in chunks:
                attention.begin(AttentionBatch.build([list(range(5, 80))], [start], [length], 16))
                rows = slice(start, start + length)
                parts.append(attention.forward(0, query[rows], key[rows], value[rows]))
                start += length
            answers.append(torch.cat(parts))
        torch.testing.assert_close(answers[1], answers[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(answers[2], answers[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("blocks", [[0, 1, 2, 3, 4], [4, 0, 3, 1, 2]], ids=["adjacent", "scattered"])
def test_tokens_behind_the_window_are_not_read(length: int, blocks: list[int]) -> None:
    shape = LayerShape(2, 1, 8, 0.3, window=5)
    attention = poisoned_attention([shape], 5, 4)
    attention.begin(AttentionBatch.build([blocks], [0], [16], 4))
    attention.forward(0, normal(1, 16, 2, 8), normal(2, 16, 1, 8), normal(3, 16, 1, 8))
    behind = AttentionBatch.build([blocks], [0], [16 - 5 + 1], 4).slots
    pages = attention.cache.pages(0)
    pages.keys[:, behind] = float("nan")
    pages.values[:, behind] = float("nan")
    attention.begin(AttentionBatch.build([blocks], [16], [length], 4))
    out = attention.forward(0, normal(4, length, 2, 8), normal(5, length, 1, 8), normal(6, length, 1, 8))
    assert out.isfinite().all()


def test_requests_that_share_a_prefix_read_the_same_blocks() -> None:
    layers = [LayerShape(2, 1, 8, 0.3)]
    attention = poisoned_attention(layers, 6, 4)
    first = Sequence([0, 1, 2], 12)
    run_step(attention, layers, [(first, 8)], 1, torch.float32)
    second = Sequence([0, 1, 5], 12, [first.keys[0].clone()], [first.values[0].clone()], 8)
    run_step(attention, layers, [(first, 1), (second, 3)], 2, torch.float32)
    run_step(attention, layers, [(first, 1), (second, 1)], 3, torch.float32)


def test_a_value_that_is_not_finite_stays_with_its_request() -> None:
    layers = [LayerShape(2, 1, 8, 0.3)]
    attention = poisoned_attention(layers, 4, 4)
    attention.begin(AttentionBatch.build([[0], [1], [2, 3]], [0, 0, 0], [1, 4, 5], 4))
    key = normal(2, 10, 1, 8)
    key[2] = float("nan")
    out = attention.forward(0, normal(1, 10, 2, 8), key, normal(3, 10, 1, 8))
    assert out[0].isfinite().all()
    assert out[1:5].isnan().any()
    assert out[5:].isfinite().all()
