"""Compiled kernels as data: every variant that a selector can choose, compiled and measured without a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonVariant:
    """One Triton kernel with fixed types and constants.

    Attributes:
        name: unique among all variants, such as "paged_decode[fp16,d128,g4]".
        module: dotted name of the module that defines the kernel.
        function: name of the `triton.jit` function there.
        signature: argument -> Triton type, such as "*fp16", "*u8", "i32" or "fp32".
        constexprs: argument -> value of the arguments that are constants.
        num_warps, num_stages: the launch options that change the code.
        tensor_cores: whether its products must run on tensor cores.
    """

    name: str
    module: str
    function: str
    signature: Mapping[str, str]
    constexprs: Mapping[str, object]
    num_warps: int = 4
    num_stages: int = 1
    tensor_cores: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaVariant:
    """One CUDA C++ kernel with fixed preprocessor constants.

    Attributes:
        name: unique among all variants, such as "flash_prefill[fp16,d128]".
        source: file in the folder of the CUDA kernels.
        entry: name of its `extern "C"` function.
        defines: preprocessor constants.
        threads: threads of a block.
        shared_bytes: dynamic shared memory of a block.
        tensor_cores: whether its products must run on tensor cores.
    """

    name: str
    source: str
    entry: str
    defines: Mapping[str, int]
    threads: int
    shared_bytes: int = 0
    tensor_cores: bool = False
