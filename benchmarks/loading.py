"""Loads a model in a process of its own, and prints what that took: `python -m benchmarks.loading MODEL`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from runtime.llm import LLM

_KIB = 1024


def _memory(key: str) -> int:
    """Bytes of this process from proc(5): `VmRSS` now, `VmHWM` the most so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * _KIB
    raise SystemExit("this needs Linux's /proc")


def main() -> None:
    """Print seconds, bytes of the weights, and bytes by which loading raised resident memory: at its end, at most."""
    before = _memory("VmRSS")
    started = time.perf_counter()
    sizes: list[int] = []
    llm = LLM(
        sys.argv[1],
        platform="cpu",
        settings={"dtype": "float32", "num_blocks": 64},
        environ={},
        progress=lambda state: sizes.append(state.total_nbytes),
    )
    seconds = time.perf_counter() - started
    resident, peak = _memory("VmRSS") - before, _memory("VmHWM") - before
    del llm  # it had to live until its memory was read
    print(json.dumps({"seconds": seconds, "weights": sizes[-1], "resident": resident, "peak": peak}))


if __name__ == "__main__":
    main()
