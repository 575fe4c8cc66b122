"""Where a context is split, the machine code hands partial sums from block to block as the memory model asks.

PTX ISA, "Memory consistency model": what the threads of a block stored before a barrier is released by the one that
then counts the block, and acquired for all threads behind the barrier by the one that counts the last.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtime.kernels.cuda import grouped_decode
from runtime.kernels.cuda.cubin import read_cubin
from runtime.kernels.cuda.nvrtc import CubinCompiler
from runtime.kernels.triton import paged_attention
from runtime.kernels.triton.compiler import compile_variant
from runtime.kernels.variants import CudaVariant, TritonVariant

SM70 = (7, 0)
# What orders memory: stores and loads of float32, barriers, atomics.
ORDERED = re.compile(r"\b(?:st\.global\S*\.b32|ld\.global\S*\.b32|bar\.sync|atom\.\S+)")
HANDOVER = ["bar.sync", "atom.global.gpu.acq_rel.add.u32", "bar.sync"]
# The chip's own: all earlier stores are out before the atomic, and the L1 cache is forgotten behind it.
FENCES = ("MEMBAR.ALL.GPU", "CCTL.IVALL")

TRITON = [each for each in paged_attention.variants() if each.name.endswith(("[fp16,d64,m1]", "[int8,d128,m4]"))]
CUDA = [each for each in grouped_decode.variants() if each.name.endswith("[fp16,d64]")]


@pytest.mark.parametrize("variant", TRITON, ids=lambda variant: variant.name)
def test_a_block_stores_then_counts_itself_then_reads(variant: TritonVariant, tmp_path: Path) -> None:
    compiled = compile_variant(variant, SM70, tmp_path)
    order = ORDERED.findall(compiled.ptx)
    (atomic,) = [at for at, each in enumerate(order) if each.startswith("atom")]
    assert order[atomic - 1 : atomic + 2] == HANDOVER
    before, behind = order[: atomic - 1], order[atomic + 2 :]
    parts, (counter,) = ([each for each in side if each.startswith("st")] for side in (before, behind))
    assert len(parts) >= 3  # weighted values, the largest score, the sum of weights
    assert counter == "st.global.b32"
    assert not [each for each in before if ".cg" in each]
    assert {each for each in behind if each.startswith("ld")} == {"ld.global.cg.b32"}
    assert set(FENCES) <= set(read_cubin(compiled.cubin)[compiled.entry].instructions)


@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.name)
def test_tensor_core_decode_counts_with_fences(variant: CudaVariant, tmp_path: Path) -> None:
    """Its barriers are those of the emulator, which knows what a block may read."""
    instructions = read_cubin(CubinCompiler(tmp_path)(variant, SM70))[variant.entry].instructions
    assert {*FENCES, "ATOM.E.INC.STRONG.GPU"} <= set(instructions)
    assert instructions["ATOM.E.INC.STRONG.GPU"] == 1
