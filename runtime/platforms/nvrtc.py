"""NVRTC, the compiler of CUDA C++ at run time: where its library is, as torch and pip would find it."""

from __future__ import annotations

import ctypes.util
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LIBRARY = re.compile(r"libnvrtc\.so\.(\d+)")


@dataclass(frozen=True, slots=True)
class NvrtcLibrary:
    """A library to load: a path or a name that the system's loader knows, and its CUDA version, 0 if unknown."""

    location: str
    major: int


def find_nvrtc(search_path: Iterable[str] = ()) -> NvrtcLibrary | None:
    """The library of a pip package, oldest CUDA first since CUDA 13 cannot compile for sm_70; else the system's.

    Args:
        search_path: folders that hold installed packages; `sys.path` where none is named.
    """
    found = [
        NvrtcLibrary(str(library), int(match[1]))
        for folder in search_path or sys.path
        for library in Path(folder or ".").glob("nvidia/*/lib/libnvrtc.so.*")
        if (match := _LIBRARY.fullmatch(library.name))
    ]
    if found:
        return min(found, key=lambda library: library.major)
    name = ctypes.util.find_library("nvrtc")
    if name is None:
        return None
    match = _LIBRARY.match(name)
    return NvrtcLibrary(name, int(match[1]) if match else 0)
