"""What a compiled kernel needs and what it consists of, as the disassembler of the Triton package tells."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.errors import KernelError
from runtime.platforms.bounded import run_bounded
from runtime.platforms.packages import TRITON

_TIMEOUT_SECONDS = 60.0
_USAGE = re.compile(r"Function (\S+):\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KernelCode:
    """One entry of a cubin.

    Attributes:
        registers: of a thread.
        local_bytes: of a thread, in memory: what was spilled, and arrays whose index is not a constant.
        shared_bytes: of a block, declared in the source; what a launch adds is not in the cubin.
        instructions: how often each opcode occurs, modifiers included, such as "HMMA.884.F32.F32.STEP0".
    """

    registers: int
    local_bytes: int
    shared_bytes: int
    instructions: Mapping[str, int]

    @property
    def tensor_core_instructions(self) -> int:
        return sum(count for opcode, count in self.instructions.items() if opcode.startswith("HMMA"))


def read_cubin(cubin: bytes) -> dict[str, KernelCode]:
    """Every entry of a cubin by its name.

    Raises:
        KernelError: the disassembler is missing, or cannot read the cubin.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = _USAGE.findall(_disassemble("-res-usage", file.name))
        parts = _FUNCTION.split(_disassemble("-sass", file.name))
    code = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {
        name: KernelCode(
            registers=int(registers),
            local_bytes=int(stack) + int(local),
            shared_bytes=int(shared),
            instructions=Counter(_INSTRUCTION.findall(code[name])),
        )
        for name, registers, stack, shared, local in usage
    }


def _disassemble(option: str, file: str) -> str:
    # Found without importing Triton, which this layer must not need.
    folder = TRITON.folder()
    tool = folder / "backends/nvidia/bin/cuobjdump" if folder else None
    if tool is None or not tool.is_file():
        raise KernelError(f"reading a cubin needs cuobjdump, which comes with Triton; run `{TRITON.install}`")
    outcome = run_bounded([str(tool), option, file], _TIMEOUT_SECONDS)
    if outcome.failure:
        raise KernelError(f"cuobjdump {option}: {outcome.failure}")
    return outcome.output
