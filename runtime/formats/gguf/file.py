"""A GGUF file, mapped into memory and checked from end to end before anything is handed out."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import NoReturn, Self

import numpy as np

from runtime.errors import CheckpointError
from runtime.formats.gguf.cursor import CONVERT_AGAIN, DOWNLOAD_AGAIN, Cursor
from runtime.formats.gguf.metadata import U32, U64, read_metadata
from runtime.formats.gguf.tensor_table import Entry, GGUFTensor, check_extents, read_entries

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MAX_ALIGNMENT = 1 << 20
_NOT_GGUF = {
    b"vers": ("a Git LFS pointer, not the file itself", "Fetch it with `git lfs pull`"),
    b"tjgg": ("a GGJT file, the predecessor of GGUF", CONVERT_AGAIN),
    b"fmgg": ("a GGMF file, a predecessor of GGUF", CONVERT_AGAIN),
    b"lmgg": ("a GGML file, a predecessor of GGUF", CONVERT_AGAIN),
}


class GGUFFile:
    """Metadata and tensors of one file. Use it as a context manager, or call `close`.

    Tensor data are views of the mapping. A view that outlives `close` keeps the mapping alive and stays readable.

    Attributes:
        metadata: key -> int, float, bool, str, or a list of one of these.
        tensors: name -> tensor, in the order of the file's table.
    """

    def __init__(self, path: Path, metadata: Mapping[str, object], tensors: Mapping[str, GGUFTensor]) -> None:
        self.path = path
        self.metadata = metadata
        self.tensors = tensors

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Map the file and check its header and its tensors' extents; no tensor data are read.

        Raises:
            CheckpointError: not a little-endian GGUF file of version 2 or 3, truncated, damaged, split over several
                files, or holding a tensor type that is not supported.
        """
        path = Path(path)
        data = memoryview(_map(path))
        cursor = Cursor(data, path)
        _check_version(cursor)
        tensor_count, key_count = cursor.integer(U64), cursor.integer(U64)
        metadata = read_metadata(cursor, key_count)
        _refuse_split(cursor, metadata)
        alignment = _alignment(cursor, metadata)
        entries = read_entries(cursor, tensor_count, alignment)
        start = -(-cursor.position // alignment) * alignment
        check_extents(cursor, entries, len(data) - start)
        return cls(path, metadata, MappingProxyType({entry.name: _view(data, start, entry) for entry in entries}))

    def close(self) -> None:
        """Let go of the tensors, and with the last view of the mapping. Metadata stay."""
        self.tensors = MappingProxyType({})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _map(path: Path) -> mmap.mmap:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CheckpointError(f"{path}: not a regular file. Name the .gguf file itself.")
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}. Check the path and its permissions.") from None
    except ValueError:
        raise CheckpointError(f"{path}: the file is empty. {DOWNLOAD_AGAIN}.") from None


def _check_version(cursor: Cursor) -> None:
    magic = bytes(cursor.take(len(_MAGIC)))
    if magic != _MAGIC:
        problem, remedy = _NOT_GGUF.get(magic, (f"not a GGUF file: it starts with {magic!r}", "Name a .gguf file"))
        cursor.fail(problem, remedy)
    version = cursor.integer(U32)
    if version in _VERSIONS:
        return
    if int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS:
        cursor.fail("a big-endian file, which is not supported", "Convert it with `gguf-convert-endian FILE little`")
    cursor.fail(f"GGUF version {version} is not supported, only 2 and 3", CONVERT_AGAIN)


def _refuse_split(cursor: Cursor, metadata: Mapping[str, object]) -> None:
    parts = metadata.get("split.count", 0)
    if isinstance(parts, int) and parts > 1:
        cursor.place = "metadata 'split.count'"
        cursor.fail(f"one of {parts} parts of a split model", "Join them with `llama-gguf-split --merge FIRST OUT`")


def _alignment(cursor: Cursor, metadata: Mapping[str, object]) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
        _refuse_alignment(cursor, alignment)
    return alignment


def _refuse_alignment(cursor: Cursor, alignment: object) -> NoReturn:
    cursor.place = "metadata 'general.alignment'"
    cursor.fail(f"{str(alignment)[:40]} is not a power of two up to {_MAX_ALIGNMENT}", CONVERT_AGAIN)


def _view(data: memoryview, start: int, entry: Entry) -> GGUFTensor:
    raw = np.frombuffer(data, np.uint8, entry.nbytes, start + entry.offset)
    return GGUFTensor(entry.name, entry.shape, entry.type, raw)
