"""Bytes to text, as Python's own reader of source files does it."""

from __future__ import annotations

import codecs
from io import BytesIO
from tokenize import detect_encoding

from analyzers.source import Problem


def decode(path: str, data: bytes) -> str | Problem:
    """The text with universal newlines and no byte order mark; UTF-8 unless a Python file declares otherwise."""
    encoding = "utf-8"
    if path.endswith((".py", ".pyi")) and b"coding" in data[:400]:
        try:
            encoding, _ = detect_encoding(BytesIO(data).readline)
        except SyntaxError as error:
            if data.isascii():
                return Problem("SRC003", 1, 0, f"the file's encoding cannot be used: {error.msg}")
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        return Problem("SRC003", line, 0, f"the file is not valid {encoding.upper()}: {found}")
    except (LookupError, ValueError):
        return Problem("SRC003", 1, 0, f"the file declares {encoding}, which is no encoding of text")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text
