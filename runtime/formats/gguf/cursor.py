"""Reading little-endian values from bytes that nobody vouches for: every step is checked before it is taken."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NoReturn

from runtime.errors import CheckpointError

DOWNLOAD_AGAIN = "Download the file again"
CONVERT_AGAIN = "Convert the model again with a current llama.cpp"

MAX_HEADER_BYTES = 1 << 28
"""A header (metadata and tensor table) may not be longer; the largest vocabularies need about 16 MiB."""

MAX_ARRAY_ITEMS = 1 << 20
"""A metadata array may not be longer; the largest vocabularies have about 2**18 entries."""

_LENGTH = struct.Struct("<Q")


class Cursor:
    """A position in a file's header, and the one place where its errors are worded.

    Args:
        data: the whole file.
        path: named in errors.
    """

    def __init__(self, data: memoryview, path: Path) -> None:
        self._data = data[:MAX_HEADER_BYTES]
        self._cut = len(data) > MAX_HEADER_BYTES
        self._path = path
        self.position = 0
        self.place = "the header"
        """What is being read, in words for an error."""

    def fail(self, problem: str, remedy: str = DOWNLOAD_AGAIN) -> NoReturn:
        """Raise the CheckpointError for `problem` at this place."""
        where = f"{self.place}, before byte {self.position}"
        raise CheckpointError(f"{self._path}: {problem} (in {where}). {remedy}.")

    def take(self, count: int) -> memoryview:
        """The next `count` bytes, without a copy."""
        start, end = self.position, self.position + count
        if end > len(self._data):
            self.require(count, 1)
        self.position = end
        return self._data[start:end]

    def require(self, count: int, item_bytes: int) -> None:
        """Refuse a promise of `count` items, of at least `item_bytes` each, that the rest of the header cannot hold."""
        left = len(self._data) - self.position
        if count * item_bytes <= left:
            return
        if self._cut:
            self.fail(f"the header is longer than {MAX_HEADER_BYTES >> 20} MiB", CONVERT_AGAIN)
        self.fail(f"{count} items of at least {item_bytes} bytes are announced, but only {left} bytes are left")

    def number(self, layout: struct.Struct) -> int | float | bool:
        """One scalar, as `layout` says."""
        value: int | float | bool = layout.unpack(self.take(layout.size))[0]
        return value

    def integer(self, layout: struct.Struct) -> int:
        """One integer, as `layout` says."""
        return int(self.number(layout))

    def string(self, limit: int = MAX_HEADER_BYTES) -> str:
        """A string: 64-bit length, then UTF-8 of at most `limit` bytes."""
        length: int = _LENGTH.unpack(self.take(_LENGTH.size))[0]
        if length > limit:
            self.fail(f"a string of {length} bytes is announced, where {limit} are the limit")
        raw = self.take(length)
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            self.fail("a string is not valid UTF-8", CONVERT_AGAIN)

    def strings(self, count: int) -> list[str]:
        """`count` strings in a row."""
        self.require(count, _LENGTH.size)
        return [self.string() for _ in range(count)]
