"""A batch says where every row's token lies, judged by looking each of them up on its own."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.attention.batch import AttentionBatch


@st.composite
def steps(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int], int]:
    """Block tables, starts and lengths of up to five requests, and a block size."""
    block_size = draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    starts = [draw(st.integers(0, 9)) for _ in lengths]
    blocks = draw(st.permutations(range(100)))
    tables = []
    for start, length in zip(starts, lengths, strict=True):
        needed = -(-(start + length) // block_size) + draw(st.integers(0, 1))
        tables.append([blocks.pop() for _ in range(needed)])
    return tables, starts, lengths, block_size


@settings(derandomize=True, max_examples=150, deadline=None)
@given(steps())
def test_every_row_has_its_position_and_its_slot(step: tuple[list[list[int]], list[int], list[int], int]) -> None:
    tables, starts, lengths, block_size = step
    batch = AttentionBatch.build(tables, starts, lengths, block_size)
    rows = [
        (position, table[position // block_size] * block_size + position % block_size)
        for table, start, length in zip(tables, starts, lengths, strict=True)
        for position in range(start, start + length)
    ]
    assert list(zip(batch.positions.tolist(), batch.slots.tolist(), strict=True)) == rows
    assert batch.positions.dtype is batch.slots.dtype is torch.int64
    assert batch.query_starts[-1] == len(rows)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(steps())
def test_every_request_is_in_exactly_one_stage(step: tuple[list[list[int]], list[int], list[int], int]) -> None:
    tables, starts, lengths, block_size = step
    batch = AttentionBatch.build(tables, starts, lengths, block_size)
    seen = sorted(
        (row, length, context, tuple(table))
        for rows in batch.stages.values()
        for row, length, context, table in zip(
            rows.query_starts, rows.query_lens, rows.context_lens, rows.block_tables, strict=True
        )
    )
    assert seen == list(
        zip(batch.query_starts[:-1], lengths, batch.context_lens, map(tuple, tables), strict=True)  # in order of rows
    )


@pytest.mark.parametrize(
    ("starts", "lengths", "stages"),
    [
        ([5, 0], [1, 1], {"decode": [1, 1]}),
        ([5, 1], [16, 2], {"verify": [16, 2]}),
        ([0, 5], [16, 17], {"prefill": [16, 17]}),
        ([0, 5, 1, 5, 0], [1, 16, 17, 1, 2], {"mixed_decode": [1, 16, 1], "prefill": [17, 2]}),
    ],
)
def test_a_request_is_in_the_stage_of_its_rows(
    starts: list[int], lengths: list[int], stages: dict[str, list[int]]
) -> None:
    batch = AttentionBatch.build([[0]] * len(starts), starts, lengths, 32)
    assert {stage: rows.query_lens for stage, rows in batch.stages.items()} == stages


def test_block_tables_are_padded_to_the_widest() -> None:
    batch = AttentionBatch.build([[3], [5, 1, 2]], [1, 8], [1, 1], 4)
    tables = batch.stages["decode"].metadata.block_tables
    assert tables.dtype is torch.int32
    assert tables.tolist() == [[3, 0, 0], [5, 1, 2]]


@pytest.mark.parametrize(("start", "length"), [(0, 0), (7, 2), (8, 1)])
def test_a_step_that_the_engine_must_never_ask_for_is_refused(start: int, length: int) -> None:
    with pytest.raises(ValueError, match=rf"request 1: {length} rows after {start} tokens, in 2 blocks"):
        AttentionBatch.build([[0], [1, 2]], [0, start], [1, length], 4)
