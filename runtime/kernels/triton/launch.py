"""The one way from an operator to the device: a variant is launched as it was declared, compiled and checked.

Triton's own call works out types, specialisations and a cache key from every argument of every launch, which takes
longer than most of these kernels run. A variant states all of that, so that a launch is one call of Triton's launcher
in C. Pointers are to what the variant declares, whatever the dtype of the tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from triton import knobs
from triton.compiler import CompiledKernel
from triton.runtime import JITFunction, driver

from runtime.errors import KernelError
from runtime.kernels.observing import OBSERVER
from runtime.kernels.triton.compiler import compile_for
from runtime.kernels.variants import TritonVariant

Argument = Tensor | int | float
Grid = tuple[int, int, int]

_ELEMENTS = {
    "*fp16": torch.float16,
    "*fp32": torch.float32,
    "*fp64": torch.float64,
    "*i64": torch.int64,
    "*i32": torch.int32,
    "*u16": torch.uint16,
    "*u8": torch.uint8,
}


class Kernel(Protocol):
    """A variant that can be launched. It keeps no argument."""

    def __call__(self, grid: Grid, *arguments: Argument) -> None:
        """Run it over a grid of blocks, in order with the current stream of the current device.

        Args:
            grid: blocks in x, y and z; nothing runs where one of them is 0.
            arguments: those of the variant's signature, in its order.

        Raises:
            KernelError: the kernel is of a kind that cannot be launched here.
            RuntimeError: the driver refuses the launch.
        """


def kernels_of(variant: Callable[..., TritonVariant]) -> Callable[..., Kernel]:
    """Kernels by what tells their variants apart. Each is compiled at its first launch on a device, and then kept."""

    @functools.cache
    def kernel(*key: str | int) -> Kernel:
        declared = variant(*key)
        function = getattr(import_module(declared.module), declared.function)
        return _Compiled(declared) if isinstance(function, JITFunction) else _Interpreted(declared, function)

    return kernel


class _Loaded(NamedTuple):
    """A kernel on one device.

    Attributes:
        compiled: launches it as Triton does.
        launch: the launcher in C, which Triton wraps for kernels that need scratch memory.
        head: what `launch` takes between grid and stream, and the kernel's own arguments.
    """

    compiled: CompiledKernel
    launch: Callable[..., None]
    head: tuple[object, ...]


class _Compiled:
    """A kernel as Triton compiles it."""

    def __init__(self, variant: TritonVariant) -> None:
        self._variant = variant
        self._constants = tuple(variant.constexprs.values())
        self._enter_hook, self._exit_hook = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
        self._driver: Any = None
        self._loaded: dict[int, _Loaded] = {}

    def __call__(self, grid: Grid, *arguments: Argument) -> None:
        observer = OBSERVER.get()
        if observer is not None:
            observer(self._variant.name, arguments)
        if self._driver is None:
            self._driver = driver.active
        device = self._driver.get_current_device()
        compiled, launch, head = self._loaded.get(device) or self._load(device)
        if self._enter_hook.calls or self._exit_hook.calls:  # a profiler wants Triton to tell it of launches
            compiled[grid](*arguments, *self._constants)
            return
        launch(*grid, self._driver.get_current_stream(device), *head, *arguments, *self._constants)

    def _load(self, device: int) -> _Loaded:
        compiled = compile_for(self._variant, self._driver.get_current_target())
        launcher = compiled.run  # this is what loads the function
        if launcher.global_scratch_size or launcher.profile_scratch_size:
            raise KernelError(f"{self._variant.name} asks Triton for scratch memory, which a launch does not bring it")
        ways = launcher.launch_cooperative_grid, launcher.launch_pdl
        scratch, told = (None, None), (None, None, None)  # what is told of a launch: metadata for two hooks
        head = compiled.function, *ways, *scratch, compiled.packed_metadata, *told
        self._loaded[device] = _Loaded(compiled, launcher.launch, head)
        return self._loaded[device]


class _Interpreted:
    """A kernel that Triton's interpreter runs on the CPU."""

    def __init__(self, variant: TritonVariant, function: Any) -> None:
        self._variant, self._function = variant, function

    def __call__(self, grid: Grid, *arguments: Argument) -> None:
        observer = OBSERVER.get()
        if observer is not None:
            observer(self._variant.name, arguments)
        kinds = self._variant.signature.values()
        declared = [_as_declared(argument, kind) for argument, kind in zip(arguments, kinds, strict=True)]
        self._function[grid](*declared, **self._variant.constexprs)


def _as_declared(argument: Argument, kind: str) -> Argument:
    return argument.view(_ELEMENTS[kind]) if isinstance(argument, Tensor) else argument
