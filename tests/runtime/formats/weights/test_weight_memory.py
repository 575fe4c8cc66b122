"""Preparing and decoding a matrix holds little more than what comes in and what goes out."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import torch
from pathlib import Path
from runtime.formats.weights.awq import AWQLayout
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import GPT_OSS_MXFP4
from runtime.formats.weights.float8 import Float8Layout
from runtime.formats.weights.gptq import GPTQLayout
from runtime.formats.weights.matrix import PackedMatrix
from runtime.formats.weights.packed_integer import IntegerLayout

torch.set_num_threads(1)
gptq = GPTQLayout(weight_format("gptq_int3"), 128, 0)
int8 = IntegerLayout(weight_format("int8"), 0, packed=False, symmetric=True)
cases = [
    ("awq", AWQLayout(128), ()),
    ("gptq", gptq, ()),
    ("gptq ordered", gptq, ("order",)),
    ("int8", int8, ()),
    ("fp8", Float8Layout(weight_format("fp8_block")), ()),
    ("mxfp4", GPT_OSS_MXFP4, ()),
]

def resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))

def ratio(layout, optional, n, k=8192):
    matrix = PackedMatrix.empty(layout.spec, n, k, layout.group_size, "cpu", optional)
    for name, part in matrix.parts.items():
        part.copy_(torch.arange(k).flip(0)) if name == "order" else part.fill_(1)
    stored = layout.store(matrix)
    del matrix
    Path("/proc/self/clear_refs").write_text("5")  # the most so far is now what there is
    before = resident("VmRSS")
    found = layout.prepare(stored, n, k, "here")
    out = torch.empty(n, k, dtype=torch.float16).fill_(0)
    found.dequantize_into(out)
    return (resident("VmHWM") - before) / (found.nbytes + out.nbytes)

for name, layout, optional in cases:
    ratio(layout, optional, 128)
    print(name, ratio(layout, optional, 1024), sep=",")
"""


def test_peak_memory_is_what_is_kept_and_a_quarter_of_it() -> None:
    """Glibc is told to give back at once what is freed."""
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    ratios = {name: float(ratio) for name, ratio in (line.split(",") for line in run.stdout.splitlines())}
    assert len(ratios) == 6
    assert {name: ratio for name, ratio in ratios.items() if ratio > 1.25} == {}
