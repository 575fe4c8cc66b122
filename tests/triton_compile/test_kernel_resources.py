"""Every kernel variant compiles for the V100, stays within its limits, and needs no more than recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.errors import CompilationError
from runtime.kernels.resources import measuring
from runtime.kernels.resources.baseline import read_baseline
from runtime.kernels.resources.catalogue import all_variants
from runtime.kernels.resources.measuring import KernelResources, compilers, measure, measure_all
from runtime.kernels.resources.ratchet import judge
from runtime.kernels.variants import TritonVariant
from runtime.platforms.chips import V100

BASELINE = Path(__file__).parents[2] / "baselines/kernels_sm70.json"


def sample(function: str, signature: Mapping[str, str], constexprs: Mapping[str, object]) -> TritonVariant:
    return TritonVariant(
        name=function, module="sample_kernels", function=function, signature=signature, constexprs=constexprs
    )


COPY = sample("copy_kernel", {"source": "*fp32", "target": "*fp32"}, {"BLOCK": 128})
DOT = sample("dot_kernel", {"left": "*fp16", "right": "*fp16", "target": "*fp32"}, {"M": 64, "N": 64, "K": 32})
WRONG = sample("wrong_kernel", {"source": "*i32"}, {})
UNDECLARED = replace(COPY, name="undeclared", constexprs={"SIZE": 128})


def test_no_kernel_is_worse_than_recorded(tmp_path: Path) -> None:
    """As `v100 kernels check`; what is new is recorded by its `--update`."""
    variants, baseline = all_variants(), read_baseline(BASELINE, V100.platform)
    measured = dict(measure_all(variants, V100, tmp_path, os.cpu_count() or 1))
    verdict = judge(variants, measured, baseline, compilers(variants), V100, list(baseline.records))
    assert [(each.name, each.reasons) for each in verdict.having("broken", "worse", "new")] == []
    assert verdict.gone == ()


def test_a_kernel_that_needs_little(tmp_path: Path) -> None:
    needs = measure(COPY, V100, tmp_path)
    assert (needs.spilled_bytes, needs.shared_bytes, needs.tensor_core_instructions) == (0, 0, 0)
    assert (needs.occupancy, needs.foreign_instructions) == (1.0, ())


def test_a_spill_is_seen(tmp_path: Path) -> None:
    assert measure(DOT, V100, tmp_path).spilled_bytes > 0


def test_what_was_compiled_is_neither_compiled_nor_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = measure(COPY, V100, tmp_path)
    monkeypatch.delattr(measuring, "read_cubin")
    monkeypatch.setattr("triton.backends.nvidia.compiler.CUDABackend.make_cubin", None)
    assert measure(COPY, V100, tmp_path) == needs


def test_a_damaged_cache_is_read_anew(tmp_path: Path) -> None:
    needs = measure(COPY, V100, tmp_path)
    for entry in (tmp_path / "code").iterdir():
        entry.write_text("{}")
    assert measure(COPY, V100, tmp_path) == needs


@pytest.mark.parametrize("wrong", [WRONG, UNDECLARED], ids=lambda variant: variant.name)
def test_a_kernel_that_does_not_compile_leaves_the_others_alone(wrong: TritonVariant, tmp_path: Path) -> None:
    measured = dict(measure_all([wrong, COPY], V100, tmp_path, 1))
    assert isinstance(measured[wrong.name], CompilationError)
    assert str(measured[wrong.name]).startswith("does not compile: ")
    assert isinstance(measured["copy_kernel"], KernelResources)


def test_a_cache_that_cannot_be_written_says_nothing_of_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        list(measure_all([COPY], V100, tmp_path / "file", 1))
