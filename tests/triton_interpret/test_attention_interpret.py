"""Triton's attention of few rows against float64 on random data, in the interpreter.

Slots without a token and rows that belong to no request are NaN, so that reading or writing them shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
from paged_case import PagedCase, paged_case
from triton.runtime.interpreter import InterpreterBuilder

from runtime.attention.workspace import Workspace
from runtime.kernels.reference.paged_attention import paged_prefill
from runtime.kernels.triton import paged_attention as triton_attention
from runtime.kernels.triton.paged_attention import paged_attention

# The output is rounded to a half, 2^-11 of its value, and sums in float32 are exacter than that.
TOLERANCE = 2.0**-10


def poisoned() -> Workspace:
    """A workspace whose buffer is NaN."""
    workspace = Workspace()
    workspace.buffer((1 << 16,), torch.device("cpu")).fill_(float("nan"))
    return workspace


def attended(
    case: PagedCase, window: int | None = None, softcap: float | None = None, workspace: Workspace | None = None
) -> torch.Tensor:
    """What the kernel wrote, float16 [T, num_heads, head_dim]; NaN where it wrote nothing."""
    out = torch.full(case.query.shape, float("nan"), dtype=torch.float16)
    workspace = workspace or poisoned()
    scale = case.query.shape[-1] ** -0.5
    paged_attention(
        case.query, case.pages, case.rows, scale=scale, window=window, softcap=softcap, scratch=workspace, out=out
    )
    return out


@contextmanager
def blocks_of_a_grid_backwards() -> Iterator[None]:
    """The interpreter runs blocks in the opposite order, as a device is free to have it."""
    place = InterpreterBuilder.set_grid_idx

    def opposite(self: InterpreterBuilder, *index: int) -> None:
        place(self, *(size - 1 - at for size, at in zip(self.grid_dim, index, strict=True)))

    with mock.patch.object(InterpreterBuilder, "set_grid_idx", opposite):
        yield


def check(case: PagedCase, window: int | None = None, softcap: float | None = None) -> None:
    """Kernel and reference agree with float64, on the rows of the case's requests alone."""
    scale = case.query.shape[-1] ** -0.5
    expected = case.expected(scale, window, softcap)
    reference = torch.full(case.query.shape, float("nan"), dtype=torch.float16)
    paged_prefill(
        case.query,
        case.pages,
        case.rows,
        scale=scale,
        window=window,
        softcap=softcap,
        scratch=Workspace(),
        out=reference,
    )
    largest = max(float(values.abs().max()) for values in case.values)
    for answer in (attended(case, window, softcap), reference):
        torch.testing.assert_close(answer.double(), expected, rtol=0.0, atol=TOLERANCE * largest, equal_nan=True)


@pytest.mark.parametrize(
    ("codec", "head_dim", "group"),
    [
        ("fp16", 64, 1),
        ("fp16", 256, 2),
        ("fp8_e4m3", 128, 3),
        ("fp8_e5m2", 64, 4),
        ("int8_g64", 64, 1),
        ("int8_g64", 256, 5),
        ("int8_per_token_head", 128, 2),
    ],
)
def test_decode_of_every_codec(codec: str, head_dim: int, group: int) -> None:
    """Groups that are no power of two pad a block, and one of five takes two."""
    check(paged_case(codec, head_dim, group, [1], [19], num_kv_heads=1))


def test_decode_of_several_requests_and_key_heads() -> None:
    check(paged_case("fp16", 64, 1, [1, 1], [1, 33]))


def test_verify_is_causal_within_the_draft() -> None:
    check(paged_case("fp16", 64, 3, [3], [20], num_kv_heads=1), window=9, softcap=3.0)


def test_mixed_decode_leaves_out_the_rows_that_a_request_does_not_have() -> None:
    check(paged_case("int8_g64", 64, 2, [1, 3], [18, 3], num_kv_heads=1))


@pytest.mark.parametrize("window", [None, 100])
def test_parts_of_a_long_context_are_joined(window: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts, or two behind a window; the second request fills less than one."""
    monkeypatch.setattr(triton_attention, "LEAST_SPLIT_KEYS", 64)
    check(paged_case("fp16", 64, 1, [1, 1], [150, 20], num_kv_heads=1), window=window)


def test_more_parts_than_a_block_reads_at_a_time_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten parts, of which the last has a single key."""
    monkeypatch.setattr(triton_attention, "LEAST_SPLIT_KEYS", 64)
    check(paged_case("fp16", 64, 1, [1], [9 * 64 + 1], num_kv_heads=1), softcap=3.0)


def test_parts_of_drafted_rows_are_joined() -> None:
    """Five rows in two blocks of four, of which the last has one: each has parts of its own."""
    check(paged_case("fp16", 64, 1, [5, 1], [300, 3], num_kv_heads=1), window=290)


def test_parts_are_joined_in_their_order_whichever_is_done_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice in one workspace, whose counters are zero again."""
    monkeypatch.setattr(triton_attention, "LEAST_SPLIT_KEYS", 64)
    case, workspace = paged_case("fp16", 64, 1, [1, 1], [200, 70], num_kv_heads=1), poisoned()
    forwards = attended(case, workspace=workspace)
    with blocks_of_a_grid_backwards():
        backwards = attended(case, workspace=workspace)
    assert torch.equal(backwards[1:], forwards[1:])
    assert workspace.counters(2, forwards.device).tolist() == [0, 0]


def test_nan_that_was_stored_is_read_as_nan() -> None:
    case = paged_case("fp8_e4m3", 64, 1, [1], [5], num_kv_heads=1)
    slot = case.rows.block_tables[0][0] * case.rows.block_size
    case.pages.values[0, slot, 7] = 0xFF
    out = attended(case)[1, 0]
    assert out.isnan().nonzero().flatten().tolist() == [7]


def test_a_query_may_be_a_slice_of_a_fused_projection() -> None:
    case = paged_case("fp16", 64, 2, [1], [9], num_kv_heads=1)
    fused = torch.full((2, 6, 64), float("nan"), dtype=torch.float16)
    fused[:, :2] = case.query
    check(PagedCase(fused[:, :2], case.pages, case.rows, case.keys, case.values))
