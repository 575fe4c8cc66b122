"""The CUDA attention kernels, emulated with all checks on, against float64 on random data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from emulator import Emulator
from paged_case import PagedCase, paged_case

from runtime.attention.workspace import Workspace
from runtime.kernels.cuda.codecs import CODECS
from runtime.kernels.cuda.flash_prefill import flash_prefill
from runtime.kernels.cuda.grouped_decode import grouped_decode

# Weights are halves, and so are decoded keys and values: 2^-11 of the largest value, a few times.
TOLERANCE = 4 * 2.0**-11


def check(
    kernel: Callable[..., None],
    device: Emulator,
    case: PagedCase,
    *,
    window: int | None = None,
    softcap: float | None = None,
    scratch: Workspace | None = None,
) -> torch.Tensor:
    """The rows of the case's requests are right, and no other row is touched; answers with all rows."""
    scale = case.query.shape[-1] ** -0.5
    out = torch.full(case.query.shape, float("nan"), dtype=torch.float16)
    kernel(
        case.query,
        case.pages,
        case.rows,
        scale=scale,
        window=window,
        softcap=softcap,
        scratch=scratch or Workspace(),
        out=out,
        launch=device,
    )
    expected = case.expected(scale, window, softcap)
    largest = max(float(values.abs().max()) for values in case.values)
    torch.testing.assert_close(out.double(), expected, rtol=0.0, atol=TOLERANCE * largest, equal_nan=True)
    return out


PREFILL_STEPS = [
    pytest.param([1], [1], id="first token"),
    pytest.param([7], [7], id="prompt within a block"),
    pytest.param([33], [70], id="chunk after a prefix"),
    pytest.param([16, 1, 33], [16, 65, 40], id="ragged"),
]


@pytest.mark.parametrize(("query_lens", "context_lens"), PREFILL_STEPS)
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_prefill_of_any_number_of_rows(
    device: Emulator, head_dim: int, query_lens: Sequence[int], context_lens: Sequence[int]
) -> None:
    check(flash_prefill, device, paged_case("fp16", head_dim, 4, query_lens, context_lens))


@pytest.mark.parametrize("window", [1, 16, 37, None])
@pytest.mark.parametrize("softcap", [3.0, None])
def test_prefill_with_window_and_softcap(device: Emulator, window: int | None, softcap: float | None) -> None:
    """With a window, the last rows of a block see none of its first keys."""
    case = paged_case("fp16", 64, 1, [5, 130], [80, 140])
    check(flash_prefill, device, case, window=window, softcap=softcap)


@pytest.mark.parametrize("group", [1, 2, 3, 5, 8, 12])
def test_prefill_of_any_group(device: Emulator, group: int) -> None:
    """More than 128 rows of a group cross a block's edge at tokens that differ from group to group."""
    check(flash_prefill, device, paged_case("fp16", 64, group, [30], [35]))


@pytest.mark.parametrize("codec", CODECS)
def test_prefill_reads_every_codec(device: Emulator, codec: str) -> None:
    check(flash_prefill, device, paged_case(codec, 64, 3, [9, 16], [9, 80]), window=50)


@pytest.mark.parametrize(("codec", "head_dim"), [("int8_g64", 128), ("fp8_e4m3", 256), ("int8_g64", 256)])
def test_prefill_reads_codecs_of_wider_heads(device: Emulator, codec: str, head_dim: int) -> None:
    check(flash_prefill, device, paged_case(codec, head_dim, 2, [17], [40]))


def test_prefill_reads_contiguous_keys_as_one_block(device: Emulator) -> None:
    check(flash_prefill, device, paged_case("fp16", 64, 2, [40], [48], block_size=64))


def test_blocks_that_no_shift_finds_are_refused(device: Emulator) -> None:
    with pytest.raises(ValueError, match="a block of 48 is not a power of two"):
        check(flash_prefill, device, paged_case("fp16", 64, 2, [40], [48], block_size=48))


def test_prefill_reads_a_slice_of_a_fused_projection(device: Emulator) -> None:
    case = paged_case("fp16", 64, 2, [9], [20])
    tokens, heads, head_dim = case.query.shape
    fused = torch.full((tokens, heads + 4, head_dim), float("nan"), dtype=torch.float16)
    fused[:, :heads] = case.query
    sliced = PagedCase(fused[:, :heads], case.pages, case.rows, case.keys, case.values)
    check(flash_prefill, device, sliced)


def test_prefill_reads_only_keys_that_a_row_can_see(device: Emulator) -> None:
    """Four rows after 100 tokens, with a window of 10, see 13 tokens in two blocks of the cache."""
    case = paged_case("fp16", 64, 1, [4], [100], num_kv_heads=1)
    check(flash_prefill, device, case, window=10)
    query, keys_and_values, metadata = 4 * 128, 13 * 2 * 128, 3 * 4 + 2 * 4
    assert device.bytes_read == query + keys_and_values + metadata


@pytest.mark.parametrize("group", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_decode_of_any_group(device: Emulator, head_dim: int, group: int) -> None:
    check(grouped_decode, device, paged_case("fp16", head_dim, group, [1] * 4, [1, 33, 16, 150]))


@pytest.mark.parametrize("codec", CODECS)
def test_decode_reads_every_codec(device: Emulator, codec: str) -> None:
    check(grouped_decode, device, paged_case(codec, 64, 4, [1, 1], [7, 140]), softcap=3.0)


@pytest.mark.parametrize(("codec", "head_dim"), [("int8_g64", 128), ("fp8_e4m3", 256), ("int8_g64", 256)])
def test_decode_reads_codecs_of_wider_heads(device: Emulator, codec: str, head_dim: int) -> None:
    check(grouped_decode, device, paged_case(codec, head_dim, 2, [1], [70]))


@pytest.mark.parametrize("window", [1, 600, 2000, None])
def test_decode_joins_splits_of_long_contexts(device: Emulator, window: int | None) -> None:
    """Contexts of one, two and three splits in one launch."""
    case = paged_case("fp16", 64, 3, [1, 1, 1], [5, 600, 1100], num_kv_heads=1)
    check(grouped_decode, device, case, window=window)
    assert device.launched == ["grouped_decode[fp16,d64]"]


@pytest.mark.parametrize(("codec", "head_dim", "group"), [("fp16", 64, 8), ("int8_g64", 128, 2), ("fp16", 256, 5)])
def test_decode_joins_splits_in_their_order_whichever_block_comes_last(
    device: Emulator, codec: str, head_dim: int, group: int
) -> None:
    """Twice in one workspace, where partial results are overwritten and counters are zero again."""
    case, scratch = paged_case(codec, head_dim, group, [1, 1], [2100, 7]), Workspace()
    forwards = check(grouped_decode, device, case, scratch=scratch)
    device.backwards = True
    assert torch.equal(check(grouped_decode, device, case, scratch=scratch)[1:], forwards[1:])
    assert scratch.counters(4, forwards.device).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("codec", CODECS)
def test_decode_reads_little_beside_one_pass_over_keys_and_values(device: Emulator, codec: str) -> None:
    """For all query heads together, splits included."""
    case = paged_case(codec, 128, 8, [1], [2048], num_kv_heads=1)
    check(grouped_decode, device, case)
    row = case.pages.keys.shape[2] * case.pages.keys.element_size()
    assert device.bytes_read + device.bytes_written <= 1.05 * (2 * 2048 * row + 8 * 128 * 2)
