"""Paged attention on the device, against float64 on what the cache's bytes mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from paged_case import paged_case

from runtime.attention.declarations import ROUTE_SPECS, RouteSpec
from runtime.attention.workspace import Workspace

pytestmark = pytest.mark.usefixtures("poison")
CODECS = ["fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"]
HEAD_DIMS = [64, 128, 256]
every_layout = pytest.mark.parametrize(("codec", "head_dim"), [(codec, d) for codec in CODECS for d in HEAD_DIMS])
# Rows of each request, and tokens of its context.
DECODE = [([1], [1]), ([1] * 4, [1, 33, 16, 150]), ([1] * 3, [5, 600, 1100])]
VERIFY = [([5], [5]), ([1, 4, 2], [33, 150, 2])]
PREFILL = [([7], [7]), ([33], [70]), ([16, 1, 33], [16, 65, 40]), ([200], [333])]


def check(
    kernel: Callable[..., None],
    device: torch.device,
    codec: str,
    head_dim: int,
    group: int,
    step: tuple[Sequence[int], Sequence[int]],
    *,
    window: int | None = None,
    softcap: float | None = None,
) -> None:
    """The rows of the case's requests are right, within a few roundings of halves, and no other row is touched."""
    case = paged_case(codec, head_dim, group, *step, device=device)
    scale = head_dim**-0.5
    out = torch.full_like(case.query, float("nan"))
    kernel(case.query, case.pages, case.rows, scale=scale, window=window, softcap=softcap, scratch=Workspace(), out=out)
    largest = max(float(values.abs().max()) for values in case.values)
    expected = case.expected(scale, window, softcap)
    torch.testing.assert_close(out.cpu().double(), expected, rtol=0.0, atol=2.0**-9 * largest, equal_nan=True)


@every_layout
@pytest.mark.parametrize("step", [*DECODE, *VERIFY], ids=str)
def test_triton_attends_for_few_rows(
    codec: str, head_dim: int, step: tuple[list[int], list[int]], device: torch.device
) -> None:
    from runtime.kernels.triton.paged_attention import paged_attention

    check(paged_attention, device, codec, head_dim, 4, step)


@pytest.mark.parametrize("group", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize(("window", "softcap"), [(None, None), (1, None), (37, 3.0), (700, None)])
def test_triton_attends_with_any_group_window_and_softcap(
    group: int, window: int | None, softcap: float | None, device: torch.device
) -> None:
    from runtime.kernels.triton.paged_attention import paged_attention

    check(paged_attention, device, "fp16", 64, group, ([1, 3], [1100, 70]), window=window, softcap=softcap)


@every_layout
@pytest.mark.parametrize("step", DECODE, ids=str)
def test_tensor_cores_decode(codec: str, head_dim: int, step: tuple[list[int], list[int]], card: torch.device) -> None:
    from runtime.kernels.cuda.grouped_decode import grouped_decode

    check(grouped_decode, card, codec, head_dim, 4, step)


@pytest.mark.parametrize("group", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("window", "softcap"), [(None, None), (1, None), (600, 3.0)])
def test_tensor_cores_decode_with_any_group_window_and_softcap(
    group: int, window: int | None, softcap: float | None, card: torch.device
) -> None:
    from runtime.kernels.cuda.grouped_decode import grouped_decode

    check(grouped_decode, card, "fp16", 64, group, ([1, 1], [1100, 70]), window=window, softcap=softcap)


def test_split_contexts_have_one_answer_whichever_block_is_last(card: torch.device) -> None:
    """Many times in one workspace, to the bit."""
    from runtime.kernels.cuda.grouped_decode import grouped_decode
    from runtime.kernels.triton.paged_attention import paged_attention

    for kernel in (grouped_decode, paged_attention):
        case, scratch = paged_case("fp16", 128, 4, [1, 1], [9000, 700], device=card), Workspace()
        outputs = [torch.zeros_like(case.query) for _ in range(200)]
        for out in outputs:
            kernel(case.query, case.pages, case.rows, scale=0.1, window=None, softcap=None, scratch=scratch, out=out)
        assert all(torch.equal(out, outputs[0]) for out in outputs)
        assert not scratch.counters(4, card).any()


@every_layout
@pytest.mark.parametrize("step", PREFILL, ids=str)
def test_tensor_cores_prefill(codec: str, head_dim: int, step: tuple[list[int], list[int]], card: torch.device) -> None:
    from runtime.kernels.cuda.flash_prefill import flash_prefill

    check(flash_prefill, card, codec, head_dim, 4, step)


@pytest.mark.parametrize("group", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize(("window", "softcap"), [(None, None), (1, None), (37, 3.0)])
def test_tensor_cores_prefill_with_any_group_window_and_softcap(
    group: int, window: int | None, softcap: float | None, card: torch.device
) -> None:
    from runtime.kernels.cuda.flash_prefill import flash_prefill

    check(flash_prefill, card, "fp16", 64, group, ([5, 130], [80, 140]), window=window, softcap=softcap)


@pytest.mark.parametrize("route", ROUTE_SPECS, ids=lambda route: route.name)
def test_every_route_attends(route: RouteSpec, card: torch.device) -> None:
    """As attention calls them, native operators and torch's own kernels included."""
    from runtime.attention.executors import KERNELS

    if route.name not in KERNELS:
        pytest.skip("declared, and not built")
    step = {"decode": DECODE[2], "verify": VERIFY[1], "mixed_decode": VERIFY[1]}.get(route.stage, PREFILL[2])
    check(KERNELS[route.name], card, "fp16", 64, 4, step)
