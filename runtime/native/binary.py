"""Prebuilt CUDA kernels: a folder of cubins and a manifest that says what they were built from.

Triton's kernels are not among them: Triton compiles and keeps its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import KernelError
from runtime.kernels.cuda import flash_prefill, grouped_decode
from runtime.kernels.cuda.nvrtc import SOURCES, CubinCompiler, load_nvrtc
from runtime.kernels.variants import CudaVariant
from runtime.native.schemas import POLICY_ABI

MANIFEST = "manifest.json"
KIND = "kernel-binary"
VERSION = 1
REBUILD = "build it again with `v100 kernels build`"


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
    """Compile kernels into a folder, which is made.

    The manifest is written last: what was interrupted is no binary.

    Args:
        folder: of the binary; cubins and a manifest that are there are replaced.
        capability: the compute capability to compile for.
        variants: the kernels; each is asked for when those before it are compiled.

    Raises:
        KernelError: there is no NVRTC, or it cannot compile them.
        OSError: the folder cannot be written.
    """
    compile_variant = CubinCompiler()
    compiler = f"NVRTC {load_nvrtc().version}"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / MANIFEST
    manifest.unlink(missing_ok=True)
    kernels = {}
    for variant in variants:
        cubin = compile_variant(variant, capability)
        digest = hashlib.sha256(cubin).hexdigest()
        file = f"{digest[:16]}.cubin"
        (folder / file).write_bytes(cubin)
        kernels[variant.name] = {"file": file, "sha256": digest}
    document = {
        "kind": KIND,
        "version": VERSION,
        "policy_abi": POLICY_ABI,
        "architecture": list(capability),
        "compiler": compiler,
        "sources": source_digest(),
        "kernels": kernels,
    }
    manifest.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def open_binary(folder: Path, capability: tuple[int, int]) -> Binary:
    """Open a binary for a card.

    Raises:
        KernelError: it is missing, damaged, incomplete, of another ABI, architecture or state of the sources.
    """
    manifest = folder / MANIFEST
    try:
        text = manifest.read_bytes()
        stored = json.loads(text)
    except OSError as error:
        raise KernelError(f"{manifest}: {error.strerror}; {REBUILD}") from None
    except ValueError as error:
        raise KernelError(f"{manifest}: not valid JSON: {error}; {REBUILD}") from None
    try:
        _check(stored, capability, manifest)
        cubins = {variant.name: _cubin(folder, stored["kernels"], variant) for variant in cuda_variants()}
        identity = {
            "kind": "prebuilt",
            "policy_abi": stored["policy_abi"],
            "compiler": stored["compiler"],
            "sources": stored["sources"],
            "manifest": hashlib.sha256(text).hexdigest(),
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise KernelError(f"{manifest}: no manifest of kernels, at {error}; {REBUILD}") from None
    return Binary(folder, identity, capability, cubins)


def _check(stored: Mapping[str, Any], capability: tuple[int, int], manifest: Path) -> None:
    if (stored["kind"], stored["version"]) != (KIND, VERSION):
        raise KernelError(f"{manifest}: no manifest of kernels in version {VERSION}; {REBUILD}")
    if stored["policy_abi"] != POLICY_ABI:
        raise KernelError(f"{manifest}: built for ABI {stored['policy_abi']}, and this is ABI {POLICY_ABI}; {REBUILD}")
    if tuple(stored["architecture"]) != capability:
        built = _dotted(stored["architecture"])
        raise KernelError(f"{manifest}: built for compute capability {built}, not {_dotted(capability)}; {REBUILD}")
    if stored["sources"] != source_digest():
        raise KernelError(f"{manifest}: built from other sources than those installed; {REBUILD}")


def _cubin(folder: Path, kernels: Mapping[str, Any], variant: CudaVariant) -> bytes:
    entry = kernels.get(variant.name)
    if entry is None:
        raise KernelError(f"{folder / MANIFEST}: has no {variant.name}; {REBUILD}")
    path = folder / Path(entry["file"]).name
    try:
        cubin = path.read_bytes()
    except OSError as error:
        raise KernelError(f"{path}: {error.strerror}; {REBUILD}") from None
    if hashlib.sha256(cubin).hexdigest() != entry["sha256"]:
        raise KernelError(f"{path}: is not what was built (its SHA-256 differs); {REBUILD}")
    return cubin


def _dotted(capability: Sequence[int]) -> str:
    return ".".join(map(str, capability))
