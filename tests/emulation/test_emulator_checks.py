"""The emulator's checks: a kernel that keeps the rules passes, and every broken rule is named."""

from __future__ import annotations

import pytest
import torch
from emulator import EmulationError, Emulator

from runtime.kernels.variants import CudaVariant

CONDUCT = CudaVariant(name="conduct", source="conduct.cu", entry="conduct", defines={}, threads=64, shared_bytes=65 * 4)
BLOCK = r"of block \(0, 0, 0\)"
# In the order of `enum Deed` in conduct.cu, from 1.
BROKEN_RULES = {
    "read outside": rf"out of bounds: thread 5 {BLOCK} reads 4 bytes outside every registered range",
    "write outside": rf"out of bounds: thread 5 {BLOCK} writes 4 bytes outside every registered range",
    "misaligned": rf"misaligned access of 4 bytes by thread 5 {BLOCK}",
    "beyond shared": rf"out of bounds: thread 63 {BLOCK} writes 4 bytes outside every registered range",
    "uninitialised": rf"uninitialised read at shared address 24 by thread 5 {BLOCK}",
    "read after write": rf"race at shared address 256: thread 1 {BLOCK} reads what thread 0 wrote",
    "write after read": rf"race at shared address 256: thread 1 {BLOCK} writes what thread 0 read",
    "write after write": rf"race at shared address 256: thread 1 {BLOCK} writes what thread 0 wrote",
    "write after many reads": rf"race at shared address 256: thread 63 {BLOCK} writes what several threads read",
    "race of warps": rf"race at shared address 256: thread 32 {BLOCK} reads what thread 0 wrote",
    "race in static": rf"race at static shared address 256: thread 1 {BLOCK} reads what thread 0 wrote",
    "divergent barrier": rf"divergence: thread 32 {BLOCK} waits at __syncwarp, thread 40 waits at __syncthreads",
    "early end": rf"divergence: thread 32 {BLOCK} waits at __syncwarp, thread 40 has ended",
    "divergent shuffle": rf"divergence: thread 32 {BLOCK} waits at a shuffle, thread 40 waits at __syncwarp",
    "partial warp": rf"a mask that is not the full warp, by thread 0 {BLOCK}",
}


def test_a_kernel_that_keeps_the_rules_passes(probes: Emulator) -> None:
    data = torch.arange(64, dtype=torch.int32)
    probes(CONDUCT, (1, 1, 1), (data, 0))
    mirrored = torch.arange(63, -1, -1)
    assert torch.equal(data, ((mirrored ^ 1) + (mirrored & 32) + mirrored).int())


@pytest.mark.parametrize(("deed", "message"), list(enumerate(BROKEN_RULES.values(), 1)), ids=BROKEN_RULES)
def test_a_broken_rule_is_named(probes: Emulator, deed: int, message: str) -> None:
    with pytest.raises(EmulationError, match=f"^conduct: {message}"):
        probes(CONDUCT, (1, 1, 1), (torch.arange(64, dtype=torch.int32), deed))


def test_a_launch_after_a_failed_one_starts_afresh(probes: Emulator) -> None:
    with pytest.raises(EmulationError):
        probes(CONDUCT, (1, 1, 1), (torch.arange(64, dtype=torch.int32), 1))
    probes(CONDUCT, (2, 2, 2), (torch.arange(64, dtype=torch.int32), 0))


def test_bytes_count_once_for_each_block_that_reads_them(probes: Emulator) -> None:
    probes(CONDUCT, (3, 1, 1), (torch.arange(64, dtype=torch.int32), 0))
    assert (probes.bytes_read, probes.bytes_written) == (3 * 64 * 4, 3 * 64 * 4)
