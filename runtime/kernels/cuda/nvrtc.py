"""Compiles CUDA C++ to cubins with NVRTC, which needs neither a device nor a driver.

Source: NVRTC documentation, CUDA 12.8. Functions are called through ctypes, so that nothing is built at installation.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import CompilationError, KernelError
from runtime.kernels.variants import CudaVariant
from runtime.platforms.nvrtc import NvrtcLibrary, find_nvrtc
from runtime.platforms.packages import NVRTC_INSTALL

SOURCES = Path(__file__).parent

_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class CubinCompiler:
    """Compiles variants, and keeps what it compiled.

    Attributes:
        cache: folder of compiled cubins, made at the first write; None keeps nothing. A folder that cannot be written
            or an entry that is damaged costs a compilation, never an error.
        sources: folder of the kernels and their headers.
    """

    cache: Path | None = None
    sources: Path = SOURCES

    def __call__(self, variant: CudaVariant, capability: tuple[int, int]) -> bytes:
        """The cubin of a variant for a compute capability.

        Raises:
            KernelError: there is no NVRTC, or it does not know the capability.
            CompilationError: the source does not compile.
        """
        options = self._options(variant, capability)
        entry = None if self.cache is None else self.cache / f"{self._key(variant, options)}.cubin"
        known = None if entry is None else _read_entry(entry)
        if known is not None:
            return known
        library = load_nvrtc()
        if capability not in library.capabilities:
            raise KernelError(
                f"{variant.name}: NVRTC {library.version} cannot compile for compute capability "
                f"{capability[0]}.{capability[1]}; run `{NVRTC_INSTALL}`"
            )
        cubin = library.compile(self.sources / variant.source, options)
        if entry is not None:
            _write_entry(entry, cubin)
        return cubin

    def _options(self, variant: CudaVariant, capability: tuple[int, int]) -> tuple[str, ...]:
        architecture = f"--gpu-architecture=sm_{capability[0]}{capability[1]}"
        defines = (f"--define-macro={name}={value}" for name, value in sorted(variant.defines.items()))
        return (architecture, "--std=c++17", f"--define-macro=SHARED_BYTES={variant.shared_bytes}", *defines)

    def _key(self, variant: CudaVariant, options: tuple[str, ...]) -> str:
        """Names everything that the compiled code depends on."""
        digest = hashlib.sha256(repr((load_nvrtc().version, variant.source, options)).encode())
        for file in [self.sources / variant.source, *sorted(self.sources.glob("*.cuh"))]:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()


class Nvrtc:
    """The loaded library.

    Attributes:
        version: such as "12.8".
        capabilities: compute capabilities that it compiles for.
    """

    def __init__(self, found: NvrtcLibrary) -> None:
        """Load it.

        Raises:
            KernelError: it cannot be loaded.
        """
        try:
            self._library = ctypes.CDLL(found.location)
        except OSError as error:
            raise KernelError(
                f"NVRTC cannot be loaded from {found.location}: {error}; run `{NVRTC_INSTALL}`"
            ) from error
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        architectures = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", architectures)
        self.capabilities = frozenset(divmod(architecture, 10) for architecture in architectures)

    def compile(self, source: Path, options: tuple[str, ...]) -> bytes:
        """The cubin of a file; what it includes lies beside it.

        Raises:
            CompilationError: it does not compile; the message is the compiler's, with files and lines.
        """
        text = source.read_bytes()
        arguments = [*options, f"--include-path={source.parent}"]
        encoded = (ctypes.c_char_p * len(arguments))(*(argument.encode() for argument in arguments))
        with self._program(text, str(source)) as program:
            status = self._library.nvrtcCompileProgram(program, len(arguments), encoded)
            if status:
                log = self._text(program, "ProgramLog").decode(errors="replace").strip("\0\n ")
                raise CompilationError(f"{source.name} does not compile with {' '.join(options)}:\n{log}")
            return self._text(program, "CUBIN")

    @contextlib.contextmanager
    def _program(self, text: bytes, name: str) -> Iterator[ctypes.c_void_p]:
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), text, name.encode(), 0, None, None)
        try:
            yield program
        finally:
            self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            explain = self._library.nvrtcGetErrorString
            explain.restype = ctypes.c_char_p
            raise KernelError(f"{function} failed: {explain(status).decode()}")


@functools.cache
def load_nvrtc() -> Nvrtc:
    """The NVRTC of this installation, loaded once.

    Raises:
        KernelError: there is none, or it cannot be loaded.
    """
    found = find_nvrtc()
    if found is None:
        raise KernelError(f"CUDA kernels need NVRTC, and there is none here; run `{NVRTC_INSTALL}`")
    return Nvrtc(found)


def _read_entry(path: Path) -> bytes | None:
    """What was kept: the digest of a cubin, then the cubin. None where it is missing or damaged."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, cubin = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
    return cubin if digest == hashlib.sha256(cubin).digest() else None


def _write_entry(path: Path, cubin: bytes) -> None:
    """Keep a cubin; a reader sees all of it or nothing."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(cubin).digest() + cubin)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
