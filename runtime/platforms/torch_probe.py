"""A script, run in a process of its own since importing torch may crash or hang: prints what torch says of itself.

Each stage is one line of JSON behind a mark, written before the next stage starts, so that what came before a crash is
kept. Arguments: folders to import from before all others.
"""

from __future__ import annotations

import importlib
import json
import sys

MARK = "torch-probe:"


def _say(**facts: object) -> None:
    print(MARK + json.dumps(facts), flush=True)


def main() -> None:
    """Say the build first, since it needs no driver, then the devices."""
    sys.path[:0] = sys.argv[1:]
    torch = importlib.import_module("torch")
    native = importlib.import_module("torch._C")
    # torch.cuda.get_arch_list() is empty without a driver; the flags that it reads are there in every CUDA build.
    flags = getattr(native, "_cuda_getArchFlags", None)
    _say(
        version=str(torch.__version__),
        cuda=torch.version.cuda,
        architectures=((flags() or "") if flags is not None else "").split(),
    )
    devices = []
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(index)
            devices.append(
                {"name": card.name, "memory_bytes": card.total_memory, "capability": [card.major, card.minor]}
            )
    _say(devices=devices)


if __name__ == "__main__":
    main()
