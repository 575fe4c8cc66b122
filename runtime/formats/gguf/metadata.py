"""The key-value section of a GGUF file.

Source: the GGUF specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from runtime.formats.gguf.cursor import CONVERT_AGAIN, MAX_ARRAY_ITEMS, Cursor

Scalar = int | float | bool | str

U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")

_STRING, _ARRAY = 8, 9
_NUMBERS = {
    code: struct.Struct("<" + letter)
    for code, letter in zip([0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12], "BbHhIif?Qqd", strict=True)
}
"""In order: u8, i8, u16, i16, u32, i32, f32, bool, u64, i64, f64."""
_MAX_KEY_BYTES = (1 << 16) - 1


def read_metadata(cursor: Cursor, count: int) -> Mapping[str, object]:
    """`count` keys and their values: int, float, bool, str, or a list of one of these.

    Raises:
        CheckpointError: a key occurs twice, an unknown value type, an array of arrays (which llama.cpp refuses too),
            or more announced than the file holds.
    """
    cursor.require(count, U64.size + U32.size + 1)
    metadata: dict[str, object] = {}
    for index in range(count):
        cursor.place = f"the key of metadata entry {index + 1} of {count}"
        key = cursor.string(_MAX_KEY_BYTES)
        cursor.place = f"metadata {key[:80]!r}"
        if key in metadata:
            cursor.fail("the key occurs twice", CONVERT_AGAIN)
        metadata[key] = _read_value(cursor)
    return MappingProxyType(metadata)


def _read_value(cursor: Cursor) -> Scalar | list[Scalar]:
    kind = cursor.integer(U32)
    if kind == _STRING:
        return cursor.string()
    if kind == _ARRAY:
        return _read_array(cursor)
    return cursor.number(_layout(cursor, kind))


def _read_array(cursor: Cursor) -> list[Scalar]:
    kind = cursor.integer(U32)
    count = cursor.integer(U64)
    if kind == _ARRAY:
        cursor.fail("an array of arrays, which is not supported", CONVERT_AGAIN)
    if count > MAX_ARRAY_ITEMS:
        cursor.fail(f"an array of {count} items is announced, where {MAX_ARRAY_ITEMS} are the limit")
    if kind == _STRING:
        return list(cursor.strings(count))
    layout = _layout(cursor, kind)
    cursor.require(count, layout.size)
    values = np.frombuffer(cursor.take(count * layout.size), np.dtype(layout.format))
    items: list[Scalar] = values.tolist()
    return items


def _layout(cursor: Cursor, kind: int) -> struct.Struct:
    layout = _NUMBERS.get(kind)
    if layout is None:
        cursor.fail(f"value type {kind} does not exist in GGUF")
    return layout
