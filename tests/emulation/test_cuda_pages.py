"""Parts of the attention kernels: every code of every codec, the places of a tile, the lengths of splits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from emulator import Emulator

from runtime.kernels.cuda.codecs import CODECS, HEAD_DIMS
from runtime.kernels.variants import CudaVariant


def _variant(entry: str, threads: int, head_dim: int = 64, codec: str = "fp8_e4m3") -> CudaVariant:
    defines = {"HEAD_DIM": head_dim, "CODEC": CODECS[codec]}
    return CudaVariant(name=entry, source="tiles.cu", entry=entry, defines=defines, threads=threads)


@pytest.mark.parametrize(("codec", "dtype"), [("fp8_e4m3", torch.float8_e4m3fn), ("fp8_e5m2", torch.float8_e5m2)])
def test_every_code_of_a_small_float_is_decoded(probes: Emulator, codec: str, dtype: torch.dtype) -> None:
    """Subnormals, infinities and NaN included."""
    out = torch.zeros(256, dtype=torch.float16)
    probes(_variant("decoded_codes", 64, codec=codec), (1, 1, 1), (out, 0))
    expected = torch.arange(256, dtype=torch.uint8).view(dtype).half()
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("scale", [1.0, 0.0377, 2.0**-24, 500.0])
def test_every_int8_code_is_multiplied_by_its_scale(probes: Emulator, scale: float) -> None:
    half = np.float16(scale)
    out = torch.zeros(256, dtype=torch.float16)
    probes(_variant("decoded_codes", 64, codec="int8_g64"), (1, 1, 1), (out, int(half.view(np.uint16))))
    codes = np.arange(256, dtype=np.uint8).view(np.int8)
    np.testing.assert_array_equal(out.numpy(), codes.astype(np.float16) * half)


@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_lanes_that_read_together_meet_no_bank_twice(probes: Emulator, head_dim: int) -> None:
    """16 bytes a lane are served eight lanes at a time, and a chunk's banks are its place modulo 8."""
    out = torch.zeros(head_dim // 8, 32, dtype=torch.int32)
    probes(_variant("tile_places", 32, head_dim), (1, 1, 1), (out,))
    places = out.T
    assert sorted(places.flatten().tolist()) == list(range(32 * head_dim // 8))
    for row in range(32):
        for first in range(0, head_dim // 8, 8):
            assert len(set((places[row, first : first + 8] % 8).tolist())) == 8, "a row that is written"
    for first in (0, 4, 16, 20):
        rows = [first + t for t in (0, 1, 2, 3, 8, 9, 10, 11)]
        for chunk in range(head_dim // 8):
            assert len(set((places[rows, chunk] % 8).tolist())) == 8, "two quads that read one chunk of their keys"


@pytest.mark.parametrize("splits", [1, 2, 3, 40])
@pytest.mark.parametrize("least", [512, 1024])
def test_splits_cover_all_keys_in_whole_tiles(probes: Emulator, splits: int, least: int) -> None:
    out = torch.zeros(20000, dtype=torch.int32)
    probes(_variant("split_lengths", 32), (1, 1, 1), (out, len(out), splits, least))
    keys = torch.arange(1, 20001)
    assert bool((out * splits >= keys).all())
    assert bool(((out >= least) & (out % 128 == 0)).all())
    assert bool(((out - 128) * splits < keys)[out > least].all()), "longer than needed"
