"""Slots of paged rows, judged by looking every token up on its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.formats.kv.codecs import get_codec
from runtime.kernels.paged import KVPages, PagedRows, slot_runs
from runtime.kernels.reference.paged_attention import paged_decode, paged_prefill


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], int, int, int]:
    """A block table with neighbours and jumps, a block size, and a range of tokens within it."""
    block_size = draw(st.integers(1, 5))
    pieces = draw(st.permutations([[0, 1, 2], [7, 8], [20], [12, 11]]))
    table = [block for piece in pieces for block in piece]
    start = draw(st.integers(0, len(table) * block_size - 1))
    end = draw(st.integers(start + 1, len(table) * block_size))
    return table, block_size, start, end


@settings(derandomize=True, max_examples=300, deadline=None)
@given(tables())
def test_runs_are_the_slots_of_the_tokens_in_their_order(case: tuple[list[int], int, int, int]) -> None:
    table, block_size, start, end = case
    wanted = [table[token // block_size] * block_size + token % block_size for token in range(start, end)]
    runs = slot_runs(table, start, end, block_size)
    assert [slot for first, length in runs for slot in range(first, first + length)] == wanted


@settings(derandomize=True, max_examples=300, deadline=None)
@given(tables())
def test_runs_are_as_long_as_they_can_be(case: tuple[list[int], int, int, int]) -> None:
    table, block_size, start, end = case
    runs = slot_runs(table, start, end, block_size)
    assert all(first + length != after for (first, length), (after, _) in pairwise(runs))


def test_a_window_leaves_out_what_no_row_sees() -> None:
    # Three rows at positions 7, 8 and 9: with a window of 4, the first of them sees 4 to 7.
    rows = PagedRows([0], [3], [10], [[5, 6, 2]], 4, torch.device("cpu"))
    (span,) = rows.spans(4)
    assert (span.tokens, span.runs) == (6, ((24, 4), (8, 2)))
    assert span.slots.tolist() == [24, 25, 26, 27, 8, 9]
    assert rows.spans(None)[0].tokens == 10


class NoSharing:
    """Scratch memory that keeps nothing."""

    def once(self, key: Hashable, build: Callable[[], torch.Tensor]) -> torch.Tensor:
        return build()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("kernel", [paged_decode, paged_prefill])
def test_a_kernel_writes_the_rows_that_it_is_given_and_no_other(
    kernel: Callable[..., None], dtype: torch.dtype
) -> None:
    cache = torch.ones(1, 8, 4)
    pages = KVPages(cache, cache, get_codec("fp32"), 1.0, 1.0)
    rows = PagedRows([1, 3], [1, 1], [2, 3], [[0], [1]], 4, torch.device("cpu"))
    out = torch.full((5, 2, 4), 7.0, dtype=dtype)
    query = torch.ones(5, 2, 4, dtype=dtype)
    kernel(query, pages, rows, scale=0.5, window=None, softcap=None, scratch=NoSharing(), out=out)
    assert out[:, 0, 0].tolist() == [7.0, 1.0, 7.0, 1.0, 7.0]
