"""Loads cubins and launches their kernels through the CUDA driver.

Source: CUDA driver API, CUDA 12.8: modules, execution control. Called through ctypes, in the context that torch made.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Protocol, overload

import torch
from torch import Tensor

from runtime.errors import KernelError
from runtime.kernels.cuda.nvrtc import CubinCompiler
from runtime.kernels.observing import OBSERVER
from runtime.kernels.variants import CudaVariant

Argument = Tensor | int | float
CubinSource = Callable[[CudaVariant, tuple[int, int]], bytes]

_MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_SHARED_CARVEOUT = 9  # CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, in percent


class Launch(Protocol):
    """Runs a variant; what a test puts in the driver's place."""

    def __call__(self, variant: CudaVariant, grid: tuple[int, int, int], arguments: Sequence[Argument]) -> None:
        """Run it over a grid of blocks, in order with the device's current stream.

        Args:
            variant: the kernel.
            grid: blocks in x, y and z; none may be 0.
            arguments: the kernel's parameters: a tensor is its address, an int an `int`, a float a `float`. There is
                at least one tensor, and all lie on one device.
        """


class Driver:
    """The kernels of this process, loaded once a device.

    Attributes:
        cubins: where compiled code comes from; whoever initialises the engine may name a cache or a prebuilt binary.
    """

    def __init__(self, cubins: CubinSource) -> None:
        self.cubins = cubins
        self._functions: dict[tuple[int, str], ctypes.c_void_p] = {}

    def __call__(self, variant: CudaVariant, grid: tuple[int, int, int], arguments: Sequence[Argument]) -> None:
        observer = OBSERVER.get()
        if observer is not None:
            observer(variant.name, arguments)
        device = next(argument.device for argument in arguments if isinstance(argument, Tensor))
        with torch.cuda.device(device):
            function = self.load(variant, device)
            stream = ctypes.c_void_p(torch.cuda.current_stream(device).cuda_stream)
            shape = (*grid, variant.threads, 1, 1)
            _call("cuLaunchKernel", function, *shape, variant.shared_bytes, stream, pack_arguments(arguments), None)

    def load(self, variant: CudaVariant, device: torch.device) -> ctypes.c_void_p:
        """The loaded function; before a graph is captured, since loading may not happen within one.

        Raises:
            KernelError: the variant cannot be compiled or loaded.
        """
        index = torch.cuda.current_device() if device.index is None else device.index
        known = self._functions.get((index, variant.name))
        if known is not None:
            return known
        image = self.cubins(variant, torch.cuda.get_device_capability(index))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        with torch.cuda.device(index):
            _call("cuModuleLoadData", ctypes.byref(module), image)
            _call("cuModuleGetFunction", ctypes.byref(function), module, variant.entry.encode())
            if variant.shared_bytes:
                _call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_BYTES, variant.shared_bytes)
                _call("cuFuncSetAttribute", function, _SHARED_CARVEOUT, 100)
        self._functions[index, variant.name] = function
        return function


DRIVER = Driver(CubinCompiler())


class Parameters(Sequence[Argument]):
    """The parameters of launches that have most of them in common: they are packed once. For one thread at a time."""

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = list(arguments)
        self.packed = pack_arguments(arguments)

    def lead_with(self, *tensors: Tensor) -> Parameters:
        """Put tensors in the place of the first parameters, which are tensors; returns itself."""
        place = len(self._arguments)
        for index, tensor in enumerate(tensors):
            self._arguments[index] = tensor
            self.packed[place + index] = tensor.data_ptr()
        return self

    def __len__(self) -> int:
        return len(self._arguments)

    @overload
    def __getitem__(self, index: int) -> Argument: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Argument]: ...

    def __getitem__(self, index: int | slice) -> Argument | Sequence[Argument]:
        return self._arguments[index]


def pack_arguments(arguments: Sequence[Argument]) -> ctypes.Array[ctypes.c_uint64]:
    """What a launch takes: an array of addresses, one a parameter, with the parameters themselves behind it."""
    if isinstance(arguments, Parameters):
        return arguments.packed
    count = len(arguments)
    packed = (ctypes.c_uint64 * (2 * count))()
    parameters = ctypes.addressof(packed) + 8 * count
    addresses = range(parameters, parameters + 8 * count, 8)
    codes, values = zip(*map(_code_and_value, arguments), strict=True)
    struct.pack_into(f"<{count}Q{''.join(codes)}", packed, 0, *addresses, *values)
    return packed


def _code_and_value(argument: Argument) -> tuple[str, int | float]:
    """How `struct` packs a parameter into eight bytes."""
    if isinstance(argument, Tensor):
        return "Q", argument.data_ptr()
    return ("i4x", argument) if isinstance(argument, int) else ("f4x", argument)


def _call(function: str, *arguments: object) -> None:
    library = load_driver()
    status = getattr(library, function)(*arguments)
    if status:
        text = ctypes.c_char_p()
        library.cuGetErrorString(status, ctypes.byref(text))
        raise KernelError(f"{function} failed: {(text.value or b'unknown error').decode()} ({status})")


@functools.cache
def load_driver() -> ctypes.CDLL:
    """The driver's library, loaded once.

    Raises:
        KernelError: it is not installed.
    """
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise KernelError("the NVIDIA driver (libcuda.so.1) is not installed; `v100 doctor` says more") from error
