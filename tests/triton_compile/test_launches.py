"""What is launched is what Triton itself would launch, and its launcher takes the arguments that variants declare."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import torch
import triton
from torch import Tensor

from benchmarks.absent_card import driver_left_out, triton_driver
from runtime.kernels.resources.catalogue import all_variants
from runtime.kernels.triton.launch import Argument, kernels_of
from runtime.kernels.variants import TritonVariant

VARIANTS = [variant for variant in all_variants() if isinstance(variant, TritonVariant)]
FAMILIES = {variant.name.partition("[")[0]: variant for variant in reversed(VARIANTS)}
"""One of each kernel."""

ELEMENTS = {
    "*fp16": torch.float16,
    "*fp32": torch.float32,
    "*fp64": torch.float64,
    "*i64": torch.int64,
    "*i32": torch.int32,
    "*u16": torch.uint16,
    "*u8": torch.uint8,
}
GRID = (3, 2, 1)


class Recorder:
    """A launcher of Triton's that notes what it is called with, and apart from that the hook to be called first."""

    launches: list[tuple[Any, ...]]
    hooks: list[Any]
    global_scratch_size = profile_scratch_size = 0
    launch_cooperative_grid = launch_pdl = False

    def __init__(self, source: Any, metadata: Any) -> None:
        self._types = list(source.signature.values())
        self._entry = metadata.name

    def launch(self, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        """Behind cooperation, dependent launch, scratch memory (twice), metadata, and what hooks are told."""
        arguments = [each.data_ptr() if isinstance(each, Tensor) else each for each in rest[8:]]
        Recorder.launches.append(((x, y, z), stream, function, rest[:5], self._entry, self._types, arguments))
        Recorder.hooks.append(rest[6])

    def __call__(self, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        self.launch(x, y, z, stream, function, False, False, None, None, *rest)


@pytest.fixture
def launches() -> Iterator[list[tuple[Any, ...]]]:
    Recorder.launches, Recorder.hooks = [], []
    with triton_driver(Recorder):
        yield Recorder.launches


def arguments_of(variant: TritonVariant) -> list[Argument]:
    """As declared; odd, so that nothing could be made of their alignment or of ones among them."""
    numbers = {"i32": 3, "fp32": 0.5}
    return [
        torch.zeros(16, dtype=ELEMENTS[kind])[1:] if kind.startswith("*") else numbers[kind]
        for kind in variant.signature.values()
    ]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_arguments_are_declared_in_the_order_of_the_kernel(variant: TritonVariant) -> None:
    function = getattr(import_module(variant.module), variant.function)
    assert [*variant.signature, *variant.constexprs] == function.arg_names


@pytest.mark.parametrize("family", ["rms_norm", "kv_write", "gemv", "paged_attention"])
def test_a_launch_is_what_triton_makes_of_the_same_call(family: str, launches: list[tuple[Any, ...]]) -> None:
    variant = FAMILIES[family]
    function = getattr(import_module(variant.module), variant.function)
    names = tuple(variant.signature)
    plain = triton.jit(function.fn, do_not_specialize=names, do_not_specialize_on_alignment=names)
    arguments = arguments_of(variant)
    options = {"num_warps": variant.num_warps, "num_stages": variant.num_stages}
    compiled = plain[GRID](*arguments, **variant.constexprs, **options)
    kernel = kernels_of(lambda: variant)()
    kernel(GRID, *arguments)
    kernel(GRID, *arguments)
    assert len(launches) == 3
    assert launches[1] == launches[0]
    assert launches[2] == launches[0]
    assert compiled.metadata.num_warps == variant.num_warps


@pytest.mark.parametrize("family", ["rms_norm", "kv_write", "gemv", "paged_attention"])
def test_the_launcher_in_c_takes_what_is_declared(family: str) -> None:
    variant = FAMILIES[family]
    with driver_left_out():
        kernels_of(lambda: variant)()(GRID, *arguments_of(variant))


def test_an_argument_that_is_not_what_is_declared_is_refused() -> None:
    variant = FAMILIES["rms_norm"]
    *others, last = arguments_of(variant)
    with driver_left_out(), pytest.raises(TypeError):
        kernels_of(lambda: variant)()(GRID, *others, float(last) + 0.5)


def test_a_profiler_that_asks_triton_is_told_of_launches(launches: list[tuple[Any, ...]]) -> None:
    variant, arguments = FAMILIES["rms_norm"], arguments_of(FAMILIES["rms_norm"])
    kernel, hook = kernels_of(lambda: variant)(), triton.knobs.runtime.launch_enter_hook
    kernel(GRID, *arguments)
    hook.add(print)
    try:
        kernel(GRID, *arguments)
    finally:
        hook.remove(print)
    kernel(GRID, *arguments)
    assert Recorder.hooks == [None, hook, None]
    assert launches[0] == launches[1] == launches[2]
