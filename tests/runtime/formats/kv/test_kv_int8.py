"""INT8 KV codecs, judged by a naive definition in NumPy and by what the layout promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from runtime.errors import ConfigError
from runtime.formats.kv.codecs import get_codec
from runtime.formats.kv.declarations import codec_spec

INT8 = ("int8_g64", "int8_per_token_head")


def row_by_definition(name: str, x: np.ndarray) -> bytes:
    """Codes, scales and padding of one row, channel by channel."""
    group = {"int8_g64": 64, "int8_per_token_head": len(x)}[name]
    codes, scales = b"", b""
    for first in range(0, len(x), group):
        part = x[first : first + group].astype(np.float32)
        scale = np.float16(np.max(np.abs(part)) / np.float32(127))
        for value in part:
            code = 0 if scale == 0 else min(127, max(-127, round(float(value) / float(scale))))
            codes += int(code).to_bytes(1, "little", signed=True)
        scales += scale.tobytes()
    return codes + scales.ljust(16, b"\0")


@pytest.mark.parametrize("name", INT8)
@pytest.mark.parametrize("head_dim", [16, 64, 80, 128, 256])
@pytest.mark.parametrize("magnitude", [1e-7, 1e-3, 1.0, 6e4])
def test_a_row_is_laid_out_as_it_is_defined(name: str, head_dim: int, magnitude: float) -> None:
    x = (np.random.default_rng(7).standard_normal((5, head_dim)) * magnitude / 4).clip(-65504, 65504)
    x = x.astype(np.float16)
    stored = get_codec(name).encode(torch.from_numpy(x), 1.0)
    assert [bytes(row.tolist()) for row in stored] == [row_by_definition(name, row) for row in x]


@pytest.mark.parametrize(("head_dim", "nbytes"), [(64, 80), (128, 144), (256, 272)])
def test_rows_take_what_is_promised(head_dim: int, nbytes: int) -> None:
    assert [codec_spec(name).row_bytes(head_dim) for name in INT8] == [nbytes, nbytes]


@pytest.mark.parametrize("name", INT8)
def test_what_is_read_differs_by_at_most_half_a_step(name: str) -> None:
    x = torch.randn(3, 2, 50, 128, generator=torch.Generator().manual_seed(3))
    read = get_codec(name).decode(get_codec(name).encode(x, 1.0), 1.0, torch.float32)
    step = x.abs().amax(-1, keepdim=True) / 127
    # float16 rounds a scale by 2^-11 of it, which the largest code has 127 times.
    assert ((read - x).abs() <= step * (0.5 + 127 * 2**-11)).all()


@pytest.mark.parametrize("name", INT8)
def test_a_row_of_zeros_is_read_as_zeros(name: str) -> None:
    stored = get_codec(name).encode(torch.zeros(2, 64), 1.0)
    assert not stored.any()
    assert not get_codec(name).decode(stored, 1.0, torch.float32).any()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e9])
def test_what_no_scale_reaches_makes_its_group_nan_and_no_other(value: float) -> None:
    x = torch.ones(2, 128)
    x[0, 5] = value
    codec = get_codec("int8_g64")
    read = codec.decode(codec.encode(x, 1.0), 1.0, torch.float32)
    assert read[0, :64].isnan().all()
    torch.testing.assert_close(read[0, 64:], x[0, 64:], rtol=1e-3, atol=0)
    torch.testing.assert_close(read[1], x[1], rtol=1e-3, atol=0)


@pytest.mark.parametrize("name", INT8)
def test_rows_that_are_not_contiguous_are_read(name: str) -> None:
    codec = get_codec(name)
    stored = codec.encode(torch.randn(4, 6, 64, generator=torch.Generator().manual_seed(5)), 1.0)
    view = stored[:, 1:4]
    assert torch.equal(codec.decode(view, 1.0, torch.float32), codec.decode(view.contiguous(), 1.0, torch.float32))


@pytest.mark.parametrize(("name", "head_dim"), [("int8_g64", 72), ("int8_g64", 576), ("int8_per_token_head", 8)])
def test_heads_without_a_layout_are_refused(name: str, head_dim: int) -> None:
    with pytest.raises(ConfigError, match=f"this model has heads of {head_dim}"):
        codec_spec(name).row_elements(head_dim)


@pytest.mark.parametrize("name", INT8)
def test_the_scale_of_a_cache_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="has no scale of the cache"):
        get_codec(name).encode(torch.ones(1, 64), 0.5)
