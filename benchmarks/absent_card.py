"""A V100 that is not here: all that leads to a launch is real, and the launch goes nowhere.

Kernels are compiled for compute capability 7.0, which needs no device. What is left out is either the launch as Triton
and `runtime.kernels.cuda` are asked for it, or the CUDA driver alone, in whose place a library of empty functions is
called. Neither changes what happens before.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import torch
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from runtime.kernels.cuda.driver import DRIVER, Argument, Driver, pack_arguments
from runtime.kernels.variants import CudaVariant

_CAPABILITY = (7, 0)
_SHARED_BYTES, _THREADS = 98304, 1024

_EMPTY_DRIVER = """
#include <stdint.h>
int cuCtxGetCurrent(void **context) { *context = (void *)1; return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 0; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)1; return 0; }
int cuFuncSetAttribute(void *function, int attribute, int value) { return 0; }
int cuGetErrorString(int error, const char **text) { *text = "no error"; return 0; }
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                   unsigned shared, void *stream, void **parameters, void **extra) { return 0; }
int cuLaunchKernelEx(const void *config, void *function, void **parameters, void **extra) { return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = (void *)1; return 0; }
int cuModuleLoadData(void **module, const void *image) { *module = (void *)1; return 0; }
int cuPointerGetAttribute(uint64_t *data, int attribute, uint64_t pointer) { *data = pointer; return 0; }
"""
"""The functions of the CUDA driver API that launchers call. Each does the least that its caller can see."""


class TritonDriver:
    """What Triton asks of a driver, for a V100 whose launches `launcher` makes: called as `CudaLauncher` is."""

    def __init__(self, launcher: Callable[..., Callable[..., None]]) -> None:
        self.launcher_cls = launcher
        self.utils = SimpleNamespace(
            get_device_properties=lambda _device: {"max_shared_mem": _SHARED_BYTES},
            load_binary=lambda *_binary: (1, 2, 0, 0, _THREADS),  # module, function, registers, spills, most threads
        )

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 10 * _CAPABILITY[0] + _CAPABILITY[1], 32)


class _LeftOut:
    """A launcher of Triton's that launches nothing."""

    global_scratch_size = profile_scratch_size = 0
    launch_cooperative_grid = launch_pdl = False

    def __init__(self, _source: object, _metadata: object) -> None:
        self.launch = self

    def __call__(self, *_arguments: object) -> None:
        """Do nothing."""


@contextmanager
def triton_driver(launcher: Callable[..., Callable[..., None]]) -> Iterator[None]:
    """Let Triton launch by `launcher` meanwhile. Kernels that were launched before keep the driver that they have."""
    with patch.object(driver, "_active", TritonDriver(launcher)):
        yield


@contextmanager
def launches_left_out() -> Iterator[None]:
    """Launchers do all they do but launch; what is for the driver is packed."""

    def packed(_driver: Driver, _variant: CudaVariant, _grid: object, arguments: Sequence[Argument]) -> None:
        pack_arguments(arguments)

    with triton_driver(_LeftOut), patch.object(Driver, "__call__", packed):
        yield


@contextmanager
def driver_left_out() -> Iterator[None]:
    """Launches are made by Triton's launcher in C and by `Driver`, and end in an empty function.

    What torch takes to say which device and which stream are current is not in it: a torch without CUDA cannot say.
    """
    with ExitStack() as stack:
        stack.enter_context(patch.object(knobs.nvidia, "libcuda_path", _empty_driver().name))
        from triton.backends.nvidia.driver import CudaLauncher

        stack.enter_context(triton_driver(CudaLauncher))
        stream = SimpleNamespace(cuda_stream=0)
        for name, answer in (
            ("device", lambda _device: nullcontext()),
            ("current_device", lambda: 0),
            ("current_stream", lambda _device: stream),
            ("get_device_capability", lambda _device: _CAPABILITY),
        ):
            stack.enter_context(patch.object(torch.cuda, name, answer))
        stack.enter_context(patch.object(DRIVER, "cubins", lambda _variant, _capability: b""))
        yield


@functools.cache
def _empty_driver() -> tempfile.TemporaryDirectory[str]:
    """Where the library is that whoever asks this process for the driver gets from now on; Triton keeps the place."""
    folder = tempfile.TemporaryDirectory()
    library = Path(folder.name) / "libcuda.so.1"
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wl,-soname,libcuda.so.1", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=_EMPTY_DRIVER, text=True, check=True)
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return folder
