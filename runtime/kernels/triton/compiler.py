"""Compiles Triton variants without a device, as a launch would on one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel

from runtime.errors import CompilationError, KernelError
from runtime.kernels.variants import TritonVariant

_WARP = 32


@dataclass(frozen=True, slots=True)
class CompiledVariant:
    """What a variant became.

    Attributes:
        entry: name of its function in the cubin.
        ptx: its instructions before they were assembled.
        shared_bytes: dynamic shared memory of a block.
        threads: of a block.
    """

    entry: str
    cubin: bytes
    ptx: str
    shared_bytes: int
    threads: int


def version() -> str:
    """The version of the compiler.

    Raises:
        KernelError: this process interprets kernels, and so cannot compile them.
    """
    if knobs.runtime.interpret:
        raise KernelError("a process that interprets kernels cannot compile them; unset TRITON_INTERPRET")
    return str(triton.__version__)


def compile_for(variant: TritonVariant, target: GPUTarget) -> CompiledKernel:
    """A variant as Triton compiles it, or finds it in its cache."""
    source = ASTSource(
        fn=getattr(import_module(variant.module), variant.function),
        signature={**variant.signature, **dict.fromkeys(variant.constexprs, "constexpr")},
        constexprs=dict(variant.constexprs),
    )
    options = {"num_warps": variant.num_warps, "num_stages": variant.num_stages}
    return triton.compile(source, target=target, options=options)


def compile_variant(variant: TritonVariant, capability: tuple[int, int], cache: Path) -> CompiledVariant:
    """Compile a variant for a compute capability, or find it in the cache.

    Args:
        cache: folder of Triton's own cache, which keys by sources, types, constants, options and compiler.

    Raises:
        CompilationError: it does not compile.
        OSError: the cache, or the folder of temporary files, cannot be used.
    """
    target = GPUTarget("cuda", 10 * capability[0] + capability[1], _WARP)
    with knobs.cache.scope():
        knobs.cache.dir = str(cache)
        try:
            compiled = compile_for(variant, target)
        except (OSError, MemoryError):
            raise  # the machine's fault, which says nothing of the kernel
        except Exception as error:  # of a wrong declaration, or whatever the compiler's passes raise
            raise CompilationError(f"does not compile: {error}") from error
    return CompiledVariant(
        entry=compiled.metadata.name,
        cubin=compiled.asm["cubin"],
        ptx=compiled.asm["ptx"],
        shared_bytes=compiled.metadata.shared,
        threads=_WARP * compiled.metadata.num_warps,
    )
