"""Bytes to text, as Python's own reader of source files does it."""

from __future__ import annotations

import codecs
import re

from analyzers.source import Problem

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
"""The encoding declaration of PEP 263."""
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")


def decode(path: str, data: bytes) -> str | Problem:
    """The text with universal newlines and no byte order mark; UTF-8 unless a Python file declares otherwise."""
    encoding = _declared(data) if path.endswith((".py", ".pyi")) else "utf-8"
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the file is not {encoding}: byte 0x{data[error.start]:02x} at offset {error.start}"
        return Problem("SRC003", line, 0, message)
    except (LookupError, ValueError):
        return Problem("SRC003", 1, 0, f"the file declares an encoding that Python does not know: {encoding}")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _declared(data: bytes) -> str:
    for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n", 2)[:2]:
        cookie = _COOKIE.match(line)
        if cookie:
            return cookie[1].decode("ascii", "replace")
        if not _BLANK.match(line.rstrip(b"\r")):
            break
    return "utf-8"
