"""The emulator's checks: a kernel that keeps the rules passes, and every broken rule is named."""

from __future__ import annotations

import pytest
import torch
from emulator import EmulationError, Emulator

from runtime.kernels.variants import CudaVariant

CONDUCT = CudaVariant(name="conduct", source="conduct.cu", entry="conduct", defines={}, threads=64, shared_bytes=65 * 4)
HANDOVER = CudaVariant(name="handover", source="handover.cu", entry="handover", defines={}, threads=64)
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

OTHER = r"of block \(1, 0, 0\)"
# In the order of `enum Deed` in handover.cu, from 1.
BROKEN_HANDOVERS = {
    "read unheard": f"race of blocks: thread 0 {OTHER} reads what another block wrote, without having heard of it",
    "write unheard": f"race of blocks: thread 0 {OTHER} writes what another block wrote, without having heard of it",
    "arrive too soon": "race of blocks: thread 1 .* reads what another block wrote, without having heard of it",
    "read too soon": f"race of blocks: thread 1 {OTHER} reads what another block wrote, without having heard of it",
    "count outside": f"out of bounds: thread 0 {BLOCK} counts outside every registered range",
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
    probes(CONDUCT, (2, 2, 1), (torch.arange(4 * 64, dtype=torch.int32), 0))


def test_bytes_count_once_for_each_block_that_reads_them(probes: Emulator) -> None:
    probes(CONDUCT, (3, 1, 1), (torch.arange(3 * 64, dtype=torch.int32), 0))
    assert (probes.bytes_read, probes.bytes_written) == (3 * 64 * 4, 3 * 64 * 4)


def handed_over(deed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    numbers, sums = torch.zeros(3, 64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    return numbers, torch.zeros(1, dtype=torch.int32), sums, deed


@pytest.mark.parametrize("backwards", [False, True])
def test_the_last_block_to_arrive_may_read_what_all_have_stored(probes: Emulator, backwards: bool) -> None:
    probes.backwards = backwards
    numbers, counter, sums, deed = handed_over(0)
    probes(HANDOVER, (3, 1, 1), (numbers, counter, sums, deed))
    assert (counter.item(), set(sums.tolist())) == (0, {3})


@pytest.mark.parametrize(("deed", "message"), list(enumerate(BROKEN_HANDOVERS.values(), 1)), ids=BROKEN_HANDOVERS)
def test_a_broken_handover_is_named(probes: Emulator, deed: int, message: str) -> None:
    with pytest.raises(EmulationError, match=f"^handover: {message}"):
        probes(HANDOVER, (3, 1, 1), handed_over(deed))
