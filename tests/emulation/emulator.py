"""Builds CUDA C++ with g++ and the emulation header, and runs it on CPU tensors in the place of the driver."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from runtime.kernels.cuda.driver import Argument, pack_arguments
from runtime.kernels.cuda.nvrtc import SOURCES
from runtime.kernels.variants import CudaVariant

HERE = Path(__file__).parent
COMPILER = ("g++", "-std=c++17", "-fPIC", "-U_FORTIFY_SOURCE", f"-I{HERE}")
# The hooks of -fsanitize=thread are defined in cuda_emulation.cpp, so its library is not linked.
INSTRUMENT = ("-O1", "-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0")
GLUE = """
#include "cuda_emulation.h"
#include "{source}"
static void call(void** arguments) {{ emulation::call({entry}, arguments); }}
extern "C" emulation::Report emulate(void** arguments, const unsigned* grid, unsigned threads, unsigned shared_bytes,
                                     const emulation::Range* ranges, int count, int backwards) {{
    return emulation::launch("{name}", call, arguments, grid, threads, shared_bytes, ranges, count, backwards);
}}
"""


class EmulationError(Exception):
    """A check of the emulator failed: the message names kernel, thread and place."""


class Report(ctypes.Structure):
    """`emulation::Report`."""

    _fields_ = (
        ("error", ctypes.c_char_p),
        ("global_bytes_read", ctypes.c_int64),
        ("global_bytes_written", ctypes.c_int64),
    )


class Range(ctypes.Structure):
    """`emulation::Range`."""

    _fields_ = (("start", ctypes.c_void_p), ("bytes", ctypes.c_int64))


class Emulator:
    """A device of the kernels in one folder.

    Attributes:
        launched: names of the variants that ran, in order.
        bytes_read, bytes_written: of global memory, by all launches together.
        backwards: whether blocks run in the opposite order, as a device is free to have it.
    """

    def __init__(self, sources: Path, build: Path) -> None:
        self.launched: list[str] = []
        self.bytes_read = self.bytes_written = 0
        self.backwards = False
        self._sources = sources
        self._build = build

    def __call__(self, variant: CudaVariant, grid: tuple[int, int, int], arguments: Sequence[Argument]) -> None:
        """A `Launch`. Kernels may touch the tensors among their arguments, gaps within included, and nothing else."""
        tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
        ranges = (Range * len(tensors))(*(Range(tensor.data_ptr(), _extent(tensor)) for tensor in tensors))
        emulate = ctypes.CDLL(str(self._library(variant))).emulate
        emulate.restype = Report
        report = emulate(
            pack_arguments(arguments),
            (ctypes.c_uint * 3)(*grid),
            variant.threads,
            variant.shared_bytes,
            ranges,
            len(tensors),
            self.backwards,
        )
        if report.error is not None:
            raise EmulationError(report.error.decode())
        self.launched.append(variant.name)
        self.bytes_read += report.global_bytes_read
        self.bytes_written += report.global_bytes_written

    def _library(self, variant: CudaVariant) -> Path:
        """The built variant, compiled once for what its sources are now."""
        glue = GLUE.format(source=variant.source, entry=variant.entry, name=variant.name)
        defines = [f"-D{name}={value}" for name, value in variant.defines.items()]
        defines.append(f"-DSHARED_BYTES={variant.shared_bytes}")
        digest = hashlib.sha256(repr((glue, defines)).encode())
        for file in sorted(path for folder in (self._sources, SOURCES) for path in folder.glob("*.cu*")):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        library = self._build / f"{digest.hexdigest()}.so"
        if not library.exists():
            device = self._build / "device.o"
            if not device.exists():
                subprocess.run([*COMPILER, "-O2", "-c", HERE / "cuda_emulation.cpp", "-o", device], check=True)
            source, kernel = library.with_suffix(".cpp"), library.with_suffix(".o")
            source.write_text(glue)
            includes = (f"-I{self._sources}", f"-I{SOURCES}")
            subprocess.run([*COMPILER, *INSTRUMENT, *includes, *defines, "-c", source, "-o", kernel], check=True)
            subprocess.run([*COMPILER, "-shared", kernel, device, "-o", library], check=True)
        return library


def _extent(tensor: Tensor) -> int:
    """Bytes from the first to the last element of a tensor."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()
