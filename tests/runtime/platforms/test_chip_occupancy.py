"""Occupancy on the V100, against the CUDA toolkit's occupancy calculator for compute capability 7.0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.platforms.chips import V100

THREADS = st.integers(1, 32).map(lambda warps: 32 * warps)
REGISTERS = st.integers(1, 255)
SHARED = st.integers(0, 98304)


@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "warps"),
    [
        (256, 32, 0, 64),
        (32, 16, 0, 32),  # 32 blocks
        (128, 255, 0, 8),  # two warps a partition
        (1024, 64, 0, 32),
        (1024, 65, 0, 0),  # more registers than there are
        (128, 33, 0, 48),  # given out by 256: 40 registers a thread
        (128, 168, 0, 12),  # three warps a partition
        (128, 32, 98304, 4),
        (128, 32, 49152, 8),
        (128, 32, 49153, 4),
        (128, 32, 98305, 0),
        (33, 32, 0, 64),  # a second warp for one thread
    ],
)
def test_warps_of_a_multiprocessor(threads: int, registers: int, shared_bytes: int, warps: int) -> None:
    assert V100.occupancy(threads=threads, registers=registers, shared_bytes=shared_bytes) == warps / 64


@given(THREADS, REGISTERS, SHARED, st.integers(0, 64), st.integers(0, 4096))
def test_who_needs_more_gets_no_more(
    threads: int, registers: int, shared_bytes: int, more_registers: int, more_bytes: int
) -> None:
    little = V100.occupancy(threads=threads, registers=registers, shared_bytes=shared_bytes)
    much = V100.occupancy(threads=threads, registers=registers + more_registers, shared_bytes=shared_bytes + more_bytes)
    assert 0 <= much <= little <= 1
