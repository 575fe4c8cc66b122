"""Prebuilt CUDA kernels: a folder of cubins and a manifest that says what they were built from.

Triton's kernels are not among them: Triton compiles and keeps its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct, json

from runtime.documents import parsed_document
from runtime.errors import KernelError
from runtime.kernels.cuda import flash_prefill, grouped_decode
from runtime.kernels.cuda.nvrtc import SOURCES, CubinCompiler, load_nvrtc
from runtime.kernels.variants import CudaVariant
from runtime.native.schemas import POLICY_ABI

MANIFEST = "manifest.json"
REBUILD = "build it again with `v100 kernels build`"

_CUBIN = ".cubin"


class _Kernel(Struct, frozen=True, forbid_unknown_fields=True):
    file: str
    sha256: str


class _Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["kernel-binary"]
    version: Literal[1]
    policy_abi: int
    architecture: tuple[int, int]
    compiler: str
    sources: str
    kernels: dict[str, _Kernel]


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary whose every file was verified when it was opened.

    Attributes:
        folder: where it was.
        identity: what a trace says of it.
        capability: the compute capability that it is for.
        cubins: by the name of the variant.
    """

    folder: Path
    identity: Mapping[str, object]
    capability: tuple[int, int]
    cubins: Mapping[str, bytes]

    def __call__(self, variant: CudaVariant, capability: tuple[int, int]) -> bytes:
        """The cubin of a variant. Raises KernelError for another compute capability."""
        if capability != self.capability:
            raise KernelError(f"{self.folder}: holds kernels for {_dotted(self.capability)}, not {_dotted(capability)}")
        return self.cubins[variant.name]


def cuda_variants() -> Iterator[CudaVariant]:
    """Every variant that a binary must hold."""
    yield from flash_prefill.variants()
    yield from grouped_decode.variants()


def source_digest(sources: Path = SOURCES) -> str:
    """SHA-256, in hexadecimal, of the kernels and their headers."""
    digest = hashlib.sha256()
    for file in sorted((*sources.glob("*.cu"), *sources.glob("*.cuh"))):
        digest.update(f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def build(folder: Path, capability: tuple[int, int], variants: Iterable[CudaVariant]) -> None:
    """Compile kernels into a folder: all of it is there in the end, or nothing has changed.

    Args:
        folder: of the binary; made, or replaced where it is empty or holds a binary.
        capability: the compute capability to compile for.
        variants: the kernels; each is asked for when those before it are compiled.

    Raises:
        KernelError: there is no NVRTC, it cannot compile them, or the folder holds something else.
        OSError: the folder cannot be written.
    """
    folder = folder.resolve()
    _check_replaceable(folder)
    compiler = f"NVRTC {load_nvrtc().version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        built, before = Path(temporary, "built"), Path(temporary, "before")
        built.mkdir()
        _write(built, capability, compiler, variants)
        _check_replaceable(folder)
        if folder.exists():
            folder.rename(before)
        built.rename(folder)


def _check_replaceable(folder: Path) -> None:
    """Raise KernelError where a folder holds anything that is not of a binary."""
    for file in sorted(folder.iterdir()) if folder.exists() else ():
        if file.name != MANIFEST and file.suffix != _CUBIN:
            raise KernelError(f"{folder}: holds {file.name}, which is no part of a binary; name a folder that is new")


def _write(folder: Path, capability: tuple[int, int], compiler: str, variants: Iterable[CudaVariant]) -> None:
    compile_variant = CubinCompiler()
    kernels = {}
    for variant in variants:
        cubin = compile_variant(variant, capability)
        digest = hashlib.sha256(cubin).hexdigest()
        kernels[variant.name] = _Kernel(f"{digest[:16]}{_CUBIN}", digest)
        (folder / kernels[variant.name].file).write_bytes(cubin)
    manifest = _Manifest(
        kind="kernel-binary",
        version=1,
        policy_abi=POLICY_ABI,
        architecture=capability,
        compiler=compiler,
        sources=source_digest(),
        kernels=kernels,
    )
    (folder / MANIFEST).write_bytes(json.format(json.encode(manifest), indent=2) + b"\n")


def open_binary(folder: Path, capability: tuple[int, int]) -> Binary:
    """Open a binary for a card.

    Raises:
        KernelError: it is missing, damaged, incomplete, of another ABI, architecture or state of the sources.
    """
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KernelError(f"{path}: {error.strerror}; {REBUILD}") from None
    manifest = parsed_document(content, path, _Manifest, "manifest of kernels in version 1", REBUILD, KernelError)
    _check(manifest, capability, path)
    cubins = {variant.name: _cubin(folder, manifest.kernels, variant) for variant in cuda_variants()}
    identity = {
        "kind": "prebuilt",
        "policy_abi": manifest.policy_abi,
        "compiler": manifest.compiler,
        "sources": manifest.sources,
        "manifest": hashlib.sha256(content).hexdigest(),
    }
    return Binary(folder, identity, capability, cubins)


def _check(manifest: _Manifest, capability: tuple[int, int], path: Path) -> None:
    if manifest.policy_abi != POLICY_ABI:
        raise KernelError(f"{path}: built for ABI {manifest.policy_abi}, and this is ABI {POLICY_ABI}; {REBUILD}")
    if manifest.architecture != capability:
        built = _dotted(manifest.architecture)
        raise KernelError(f"{path}: built for compute capability {built}, not {_dotted(capability)}; {REBUILD}")
    if manifest.sources != source_digest():
        raise KernelError(f"{path}: built from other sources than those installed; {REBUILD}")


def _cubin(folder: Path, kernels: Mapping[str, _Kernel], variant: CudaVariant) -> bytes:
    entry = kernels.get(variant.name)
    if entry is None:
        raise KernelError(f"{folder / MANIFEST}: has no {variant.name}; {REBUILD}")
    path = folder / Path(entry.file).name
    try:
        cubin = path.read_bytes()
    except OSError as error:
        raise KernelError(f"{path}: {error.strerror}; {REBUILD}") from None
    if hashlib.sha256(cubin).hexdigest() != entry.sha256:
        raise KernelError(f"{path}: is not what was built (its SHA-256 differs); {REBUILD}")
    return cubin


def _dotted(capability: Sequence[int]) -> str:
    return ".".join(map(str, capability))
