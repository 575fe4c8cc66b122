"""Compiles kernel variants without a device and reads from the result what they need; nothing is launched."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields
from multiprocessing import get_context
from pathlib import Path

from runtime.errors import CompilationError, KernelError
from runtime.kernels.cuda.cubin import KernelCode, read_cubin
from runtime.kernels.cuda.nvrtc import CubinCompiler, load_nvrtc
from runtime.kernels.resources.catalogue import Variant
from runtime.kernels.variants import CudaVariant
from runtime.platforms.chips import ChipSpec
from runtime.platforms.protocol import declared

# What later chips have and this one does not: types and copies in PTX, instructions in SASS.
_FOREIGN_PTX = re.compile(r"cp\.async\b|\.(?:bf16|e4m3|e5m2)(?:x2)?\b")
_FOREIGN_SASS = re.compile(r"BF16|E4M3|E5M2|LDGSTS|LDSM|IMMA")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResources:
    """What one compiled variant needs and consists of.

    Attributes:
        registers: of a thread.
        spilled_bytes: of a thread, in memory instead of registers.
        shared_bytes: of a block, static and dynamic.
        occupancy: share of a multiprocessor's warps that it can keep.
        tensor_core_instructions: how many there are.
        foreign_instructions: those that the chip does not have.
    """

    registers: int
    spilled_bytes: int
    shared_bytes: int
    occupancy: float
    tensor_core_instructions: int
    foreign_instructions: tuple[str, ...] = ()


def compilers(variants: Sequence[Variant]) -> dict[str, str]:
    """The versions of what compiles these variants.

    Raises:
        KernelError: one of them is not installed, or cannot compile here.
    """
    versions = {}
    if any(isinstance(variant, CudaVariant) for variant in variants):
        versions["nvrtc"] = load_nvrtc().version
    if not all(isinstance(variant, CudaVariant) for variant in variants):
        from runtime.kernels.triton.compiler import version  # only here: not every machine has Triton

        versions["triton"] = version()
    return versions


def measure(variant: Variant, chip: ChipSpec, cache: Path) -> KernelResources:
    """Compile one variant for a chip and read what it needs.

    Args:
        cache: folder of what was compiled and read before, made at the first write.

    Raises:
        CompilationError: the variant does not compile.
        KernelError: what compiles, or reads what was compiled, does not work here.
        OSError: the cache, or the folder of temporary files, cannot be used.
    """
    capability = declared(chip.platform).spec.capability
    assert capability is not None, "a chip has a compute capability"
    if isinstance(variant, CudaVariant):
        cubin = CubinCompiler(cache / "nvrtc")(variant, capability)
        entry, threads, dynamic_bytes, ptx = variant.entry, variant.threads, variant.shared_bytes, ""
    else:
        from runtime.kernels.triton.compiler import compile_variant  # only here: not every machine has Triton

        compiled = compile_variant(variant, capability, cache / "triton")
        cubin, entry, ptx = compiled.cubin, compiled.entry, compiled.ptx
        threads, dynamic_bytes = compiled.threads, compiled.shared_bytes
    code = _read(cubin, entry, cache / "code")
    shared_bytes = code.shared_bytes + dynamic_bytes
    foreign = {opcode for opcode in code.instructions if _FOREIGN_SASS.search(opcode)}
    return KernelResources(
        registers=code.registers,
        spilled_bytes=code.local_bytes,
        shared_bytes=shared_bytes,
        occupancy=chip.occupancy(threads=threads, registers=code.registers, shared_bytes=shared_bytes),
        tensor_core_instructions=code.tensor_core_instructions,
        foreign_instructions=tuple(sorted(foreign | set(_FOREIGN_PTX.findall(ptx)))),
    )


def measure_all(
    variants: Sequence[Variant], chip: ChipSpec, cache: Path, jobs: int
) -> Iterator[tuple[str, KernelResources | CompilationError]]:
    """Measure variants in so many processes.

    Returns:
        The name of each variant with what it needs, or with the error where it does not compile, in the order in which
        they are done.

    Raises:
        KernelError, OSError: as `measure`, or a process died.
    """
    if jobs == 1:
        for variant in variants:
            yield variant.name, _attempt(variant, chip, cache)
        return
    # Spawned: a fork would inherit the threads of torch and the compiler, and their locks.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        names = {pool.submit(_attempt, variant, chip, cache): variant.name for variant in variants}
        try:
            for done in as_completed(names):
                yield names[done], done.result()
        except BrokenProcessPool as error:
            raise KernelError(f"a process that compiled kernels died, perhaps for want of memory: {error}") from error
        finally:
            pool.shutdown(cancel_futures=True)


def _attempt(variant: Variant, chip: ChipSpec, cache: Path) -> KernelResources | CompilationError:
    try:
        return measure(variant, chip, cache)
    except CompilationError as error:
        return error


def _read(cubin: bytes, entry: str, cache: Path) -> KernelCode:
    """What `read_cubin` says of an entry; it starts a disassembler twice, so its answers are kept."""
    file = cache / f"{hashlib.sha256(cubin + entry.encode()).hexdigest()}.json"
    with contextlib.suppress(OSError, ValueError, TypeError):  # an entry that is missing or damaged is read anew
        return KernelCode(**json.loads(file.read_bytes()))
    code = read_cubin(cubin)[entry]
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=cache)
        with os.fdopen(handle, "w") as stream:
            json.dump({each.name: getattr(code, each.name) for each in fields(code)}, stream)
        os.replace(temporary, file)
    return code
