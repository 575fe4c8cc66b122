"""What a chip offers to kernels, as data: what its multiprocessors hold, and how fast it can move and compute.

Sources: CUDA C++ programming guide, "Technical specifications per compute capability", and the occupancy calculator of
the CUDA toolkit (units in which registers and shared memory are given out), both for 7.0; NVIDIA Tesla V100 GPU
architecture (WP-08608-001), SXM2 module.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipSpec:
    """One chip.

    Attributes:
        platform: name of its platform.
        warps, blocks, registers, shared_bytes: the most that one multiprocessor holds at a time.
        partitions: parts of a multiprocessor, each with as large a share of the registers, which warps are dealt to.
        register_unit: registers of a warp are a multiple of it.
        shared_unit: bytes of shared memory of a block are a multiple of it.
        max_registers: of one thread.
        bytes_per_second: of its memory.
        tensor_flops, float32_flops: a second, of products of float16 on tensor cores, and of float32.
    """

    platform: str
    warps: int
    blocks: int
    registers: int
    shared_bytes: int
    partitions: int
    register_unit: int
    shared_unit: int
    max_registers: int
    bytes_per_second: float
    tensor_flops: float
    float32_flops: float

    def occupancy(self, *, threads: int, registers: int, shared_bytes: int) -> float:
        """The share of a multiprocessor's warps that a kernel can keep, between 0 and 1; 0 where it cannot start.

        Args:
            threads: of a block.
            registers: of a thread.
            shared_bytes: of a block, static and dynamic.
        """
        warps = -(-threads // _WARP)
        warp_registers = _rounded_up(max(registers, 1) * _WARP, self.register_unit)
        warps_with_registers = self.registers // self.partitions // warp_registers * self.partitions
        blocks = min(self.blocks, self.warps // warps, warps_with_registers // warps)
        if shared_bytes:
            blocks = min(blocks, self.shared_bytes // _rounded_up(shared_bytes, self.shared_unit))
        return blocks * warps / self.warps


_WARP = 32


def _rounded_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


V100 = ChipSpec(
    platform="sm70",
    warps=64,
    blocks=32,
    registers=65536,
    shared_bytes=98304,
    partitions=4,
    register_unit=256,
    shared_unit=256,
    max_registers=255,
    bytes_per_second=900e9,
    tensor_flops=125e12,
    float32_flops=15.7e12,
)
