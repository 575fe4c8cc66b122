"""Writes small GGUF files byte by byte, also such as no honest tool would write."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

SCALARS = {
    "u8": (0, "B"),
    "i8": (1, "b"),
    "u16": (2, "H"),
    "i16": (3, "h"),
    "u32": (4, "I"),
    "i32": (5, "i"),
    "f32": (6, "f"),
    "bool": (7, "?"),
    "u64": (10, "Q"),
    "i64": (11, "q"),
    "f64": (12, "d"),
}
STRING, ARRAY = 8, 9


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def value(kind: str, content: object) -> bytes:
    """A typed value: kind is a scalar's name, "string", or "[kind]" for an array of it."""
    if kind.startswith("["):
        items = [value(kind[1:-1], item) for item in content]  # type: ignore[attr-defined]
        tag, _ = _tag(kind[1:-1])
        return struct.pack("<IIQ", ARRAY, tag, len(items)) + b"".join(item[4:] for item in items)
    tag, layout = _tag(kind)
    body = string(content) if tag == STRING else struct.pack("<" + layout, content)  # type: ignore[arg-type]
    return struct.pack("<I", tag) + body


def _tag(kind: str) -> tuple[int, str]:
    return (STRING, "") if kind == "string" else (ARRAY, "") if kind.startswith("[") else SCALARS[kind]


@dataclass
class Tensor:
    """A row of the table. `shape` is in torch's order; an offset of None is the next free place."""

    name: str
    shape: Sequence[int]
    code: int
    data: bytes
    offset: int | None = None


@dataclass
class File:
    metadata: Mapping[str, bytes] = field(default_factory=dict)
    tensors: Sequence[Tensor] = ()
    magic: bytes = b"GGUF"
    version: int = 3
    alignment: int = 32
    tensor_count: int | None = None
    key_count: int | None = None

    def pack(self) -> bytes:
        counts = (len(self.tensors) if self.tensor_count is None else self.tensor_count,
                  len(self.metadata) if self.key_count is None else self.key_count)  # fmt: skip
        padding = self.alignment if self.tensors else 1
        header = self.magic + struct.pack("<IQQ", self.version, *counts)
        header += b"".join(string(key) + raw for key, raw in self.metadata.items())
        body = b""
        for tensor in self.tensors:
            body += bytes(-len(body) % self.alignment)
            offset = len(body) if tensor.offset is None else tensor.offset
            dimensions = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
            header += string(tensor.name) + dimensions + struct.pack("<IQ", tensor.code, offset)
            body += tensor.data
        return header + bytes(-len(header) % padding) + body


def small_file() -> File:
    """Every kind of value, and tensors of three types."""
    random = np.random.default_rng(7)
    metadata = {
        "general.architecture": value("string", "tiny"),
        **{f"test.{kind}": value(kind, 1) for kind in SCALARS},
        **{f"test.array.{kind}": value(f"[{kind}]", [0, 1]) for kind in SCALARS},
        "test.strings": value("[string]", ["", "größe", "🦙"]),
        "test.empty": value("[f32]", []),
    }
    tensors = [
        Tensor("a.weight", (3, 8), 0, random.standard_normal(24, np.float32).tobytes()),
        Tensor("b.weight", (2, 64), 8, random.bytes(2 * 2 * 34)),
        Tensor("c.weight", (2, 1, 256), 12, random.bytes(2 * 144)),
    ]
    return File(metadata, tensors)
