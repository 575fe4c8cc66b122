"""What the CUDA launchers ask a device to do, for shapes too large to run here."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch

from runtime.attention.workspace import Workspace
from runtime.kernels.cuda import flash_prefill, grouped_decode
from runtime.kernels.cuda.driver import Argument
from runtime.kernels.paged import KVPages, PagedRows
from runtime.kernels.variants import CudaVariant
from runtime.platforms.declarations import PLATFORM_SPECS

SM70 = next(spec for spec in PLATFORM_SPECS if spec.name == "sm70")
HEADS, KV_HEADS, HEAD_DIM, BLOCK_SIZE = 32, 8, 128, 16


class Recorder:
    """A `Launch` that runs nothing."""

    def __init__(self) -> None:
        self.grids: dict[str, tuple[int, int, int]] = {}

    def __call__(self, variant: CudaVariant, grid: tuple[int, int, int], arguments: Sequence[Argument]) -> None:
        assert all(grid)
        self.grids[variant.name] = grid


def launched(
    kernel: object, query_lens: Sequence[int], context_lens: Sequence[int], blocks: int, window: int | None = None
) -> dict[str, tuple[int, int, int]]:
    """The grids of a call whose requests have tables of `blocks` blocks."""
    requests = len(query_lens)
    starts = [sum(query_lens[:request]) for request in range(requests)]
    cpu = torch.device("cpu")
    rows = PagedRows(starts, query_lens, context_lens, [list(range(blocks))] * requests, BLOCK_SIZE, cpu)
    cache = torch.empty((KV_HEADS, blocks * BLOCK_SIZE, HEAD_DIM), dtype=torch.float16, device="meta")
    codec = SimpleNamespace(spec=SimpleNamespace(name="fp16"))
    query = torch.empty((sum(query_lens), HEADS, HEAD_DIM), dtype=torch.float16)
    recorder = Recorder()
    kernel(  # type: ignore[operator]
        query,
        KVPages(cache, cache, codec, 1.0, 1.0),  # type: ignore[arg-type]
        rows,
        scale=1.0,
        window=window,
        softcap=None,
        scratch=Workspace(),
        out=torch.empty_like(query),
        launch=recorder,
    )
    return recorder.grids


@pytest.mark.parametrize(("rows", "tiles"), [(1, 1), (32, 1), (33, 2), (512, 16)])
def test_prefill_has_a_block_for_every_128_rows_of_a_group(rows: int, tiles: int) -> None:
    grids = launched(flash_prefill.flash_prefill, [rows, 1], [600, 1], blocks=40)
    assert grids == {"flash_prefill[fp16,d128]": (tiles, KV_HEADS, 2)}


def test_one_long_request_is_split_into_enough_blocks() -> None:
    grids = launched(grouped_decode.grouped_decode, [1], [32768], blocks=2048)
    assert grids == {"grouped_decode[fp16,d128]": (KV_HEADS, 40, 1)}


def test_many_requests_need_no_split() -> None:
    grids = launched(grouped_decode.grouped_decode, [1] * 40, [4096] * 40, blocks=256)
    assert grids == {"grouped_decode[fp16,d128]": (KV_HEADS, 1, 40)}


def test_a_window_needs_no_more_splits_than_it_has_keys() -> None:
    grids = launched(grouped_decode.grouped_decode, [1], [32768], blocks=2048, window=1024)
    assert grids["grouped_decode[fp16,d128]"] == (KV_HEADS, 2, 1)


def test_the_grid_of_a_decode_does_not_follow_its_contexts() -> None:
    """So that a captured graph can be replayed while contexts grow within their tables."""
    short = launched(grouped_decode.grouped_decode, [1, 1], [1, 1], blocks=256)
    assert short == launched(grouped_decode.grouped_decode, [1, 1], [4096, 2000], blocks=256)


@pytest.mark.parametrize("variant", [*flash_prefill.variants(), *grouped_decode.variants()], ids=lambda v: v.name)
def test_a_block_fits_into_the_shared_memory_of_the_chip(variant: CudaVariant) -> None:
    assert variant.shared_bytes <= SM70.shared_memory_bytes
    assert variant.threads % 32 == 0
