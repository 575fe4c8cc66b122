"""The CPU as a platform, and how much memory a process in a container may still take."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from runtime.platforms.protocol import DeclaredPlatform

_CGROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)


@dataclass(frozen=True, slots=True)
class CpuPlatform(DeclaredPlatform):
    """Any CPU that torch runs on."""

    @property
    def device(self) -> str:
        return "cpu"

    def memory_bytes(self) -> int:
        return available_memory()


def available_memory(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that this process may still take: what the machine has left, or less where a container's limit is nearer.

    Sources: proc(5) `MemAvailable`, and the kernel's documents of cgroup v2 (`memory.max`) and v1 (`limit_in_bytes`).
    """
    left = [_machine_left(proc)]
    for limit_name, used_name in _CGROUP_FILES:
        limit, used = _number(cgroup / limit_name), _number(cgroup / used_name)
        if limit is not None and used is not None:
            left.append(max(0, limit - used))
    return min(left)


def _machine_left(proc: Path) -> int:
    try:
        match = re.search(r"^MemAvailable:\s*(\d+) kB$", (proc / "meminfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    if match is not None:
        return int(match[1]) * 1024
    # Without /proc (macOS) nobody says what is available; half of what is installed is a careful guess.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
