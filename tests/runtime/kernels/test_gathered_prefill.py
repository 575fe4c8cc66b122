"""Prefill by torch's own attention over gathered pages, against float64 on what the cache's bytes mean."""

from __future__ import annotations

import pytest
import torch
from paged_case import paged_case

from runtime.attention.workspace import Workspace
from runtime.formats.kv.declarations import KV_CODECS
from runtime.kernels.library import gathered_prefill as library
from runtime.kernels.library.gathered_prefill import gathered_prefill

# Weights, keys and values are halves: 2^-11 of the largest value, a few times.
TOLERANCE = 4 * 2.0**-11
CODECS = [spec.name for spec in KV_CODECS if spec.name not in ("fp32", "bf16")]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("window", [None, 1, 20])
@pytest.mark.parametrize(
    ("query_lens", "context_lens"), [([1], [1]), ([33, 2], [33, 70]), ([5, 40], [80, 41])], ids=str
)
def test_any_rows_of_any_codec(
    codec: str, window: int | None, query_lens: list[int], context_lens: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "QUERY_TILE", 16)
    case = paged_case(codec, 64, 3, query_lens, context_lens)
    out = torch.full(case.query.shape, float("nan"), dtype=torch.float16)
    gathered_prefill(
        case.query, case.pages, case.rows, scale=0.125, window=window, softcap=None, scratch=Workspace(), out=out
    )
    expected = case.expected(0.125, window, None)
    largest = max(float(values.abs().max()) for values in case.values)
    torch.testing.assert_close(out.double(), expected, rtol=0.0, atol=TOLERANCE * largest, equal_nan=True)


def test_a_soft_cap_is_refused() -> None:
    case = paged_case("fp16", 64, 1, [2], [2])
    with pytest.raises(ValueError, match="cannot apply a soft cap"):
        gathered_prefill(
            case.query, case.pages, case.rows, scale=1.0, window=None, softcap=2.0, scratch=Workspace(), out=case.query
        )
