"""The tensor table of a GGUF file: what each tensor is, and where its bytes lie.

Source: the GGUF specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from runtime.formats.gguf.cursor import CONVERT_AGAIN, DOWNLOAD_AGAIN, Cursor
from runtime.formats.gguf.ggml import TYPES_BY_CODE, UNSUPPORTED_TYPES, GGMLType
from runtime.formats.gguf.metadata import U32, U64

_MAX_NAME_BYTES = 64
_MAX_DIMENSIONS = 4
_MIN_ENTRY_BYTES = U64.size + U32.size + U32.size + U64.size


@dataclass(frozen=True)
class GGUFTensor:
    """One tensor of a file, still as it is stored.

    Attributes:
        shape: in torch's order, outermost first; rows are `shape[-1]` long and whole blocks.
        data: uint8 [nbytes], a view of the mapped file.
    """

    name: str
    shape: tuple[int, ...]
    type: GGMLType
    data: npt.NDArray[np.uint8] = field(repr=False, compare=False)

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return self.data.nbytes


@dataclass(frozen=True)
class Entry:
    """A row of the table; `offset` counts bytes from the start of the data section."""

    name: str
    shape: tuple[int, ...]
    type: GGMLType
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return math.prod(self.shape) // self.type.block_size * self.type.block_bytes


def read_entries(cursor: Cursor, count: int, alignment: int) -> list[Entry]:
    """`count` rows of the table.

    Raises:
        CheckpointError: a name occurs twice, a type that is unknown or unsupported, a row of weights that is no
            multiple of its type's block, or an offset that `alignment` does not divide.
    """
    cursor.require(count, _MIN_ENTRY_BYTES)
    entries: dict[str, Entry] = {}
    for index in range(count):
        cursor.place = f"the name of tensor {index + 1} of {count}"
        name = cursor.string(_MAX_NAME_BYTES)
        cursor.place = f"the entry of tensor {name!r}"
        if name in entries:
            cursor.fail("the name occurs twice", CONVERT_AGAIN)
        entries[name] = _read_entry(cursor, name, alignment)
    return list(entries.values())


def _read_entry(cursor: Cursor, name: str, alignment: int) -> Entry:
    dimensions = cursor.integer(U32)
    if dimensions > _MAX_DIMENSIONS:
        cursor.fail(f"{dimensions} dimensions, where {_MAX_DIMENSIONS} are the limit")
    innermost_first = [cursor.integer(U64) for _ in range(dimensions)]
    if 0 in innermost_first:
        cursor.fail("a dimension is 0", CONVERT_AGAIN)
    kind = _read_type(cursor)
    row = innermost_first[0] if innermost_first else 1
    if row % kind.block_size:
        cursor.fail(f"rows of {row} weights are no multiple of {kind.name}'s block of {kind.block_size}", CONVERT_AGAIN)
    offset = cursor.integer(U64)
    if offset % alignment:
        cursor.fail(f"offset {offset} is not aligned to {alignment} bytes", CONVERT_AGAIN)
    return Entry(name, tuple(reversed(innermost_first)), kind, offset)


def _read_type(cursor: Cursor) -> GGMLType:
    code = cursor.integer(U32)
    kind = TYPES_BY_CODE.get(code)
    if kind is None:
        known = ", ".join(kind.name for kind in GGMLType)
        name = UNSUPPORTED_TYPES.get(code, "unknown")
        cursor.fail(f"tensor type {code} ({name}) is not supported", f"Use a file quantised to one of: {known}")
    return kind


def check_extents(cursor: Cursor, entries: Iterable[Entry], data_bytes: int) -> None:
    """Refuse tensors that reach past the data section's `data_bytes`, or into each other."""
    in_file = sorted(entries, key=lambda entry: entry.offset)
    for entry in in_file:
        end = entry.offset + entry.nbytes
        if end > data_bytes:
            cursor.place = f"the entry of tensor {entry.name!r}"
            cursor.fail(f"its data ends at byte {end} of a data section of {max(data_bytes, 0)} bytes", DOWNLOAD_AGAIN)
    for entry, following in pairwise(in_file):
        if entry.offset + entry.nbytes > following.offset:
            cursor.place = f"the entry of tensor {following.name!r}"
            cursor.fail(f"its data overlaps that of {entry.name!r}", CONVERT_AGAIN)
