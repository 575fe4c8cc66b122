"""Counts the memory that kernels touch in Triton's interpreter, by the addresses of their loads, stores and atomics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
from torch import Tensor
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder, TensorHandle, interpreter_builder

Addresses = set[int]


class TouchedMemory:
    """What was touched, in order of launches; each launch has the bytes that each of its programs read and wrote."""

    def __init__(self) -> None:
        self.reads: list[defaultdict[object, Addresses]] = []
        self.writes: list[defaultdict[object, Addresses]] = []

    @property
    def launches(self) -> int:
        return len(self.reads)

    @property
    def read(self) -> int:
        """Bytes read, each once a launch."""
        return sum(len(set().union(*programs.values())) for programs in self.reads)

    @property
    def written(self) -> int:
        """Bytes written, each once a launch."""
        return sum(len(set().union(*programs.values())) for programs in self.writes)

    def read_by_programs(self, *tensors: Tensor) -> int:
        """Bytes of these tensors that were read, each once a program: what is moved without a cache between them."""
        ranges = [range(tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes) for tensor in tensors]
        return sum(
            sum(any(address in each for each in ranges) for address in addresses)
            for programs in self.reads
            for addresses in programs.values()
        )


@contextmanager
def touched_memory() -> Iterator[TouchedMemory]:
    """Count what the kernels launched meanwhile touch."""
    touched = TouchedMemory()
    run, load, store, update = (
        GridExecutor.__call__,
        InterpreterBuilder.create_masked_load,
        InterpreterBuilder.create_masked_store,
        InterpreterBuilder.create_atomic_rmw,
    )

    def counted_run(self: GridExecutor, *arguments: object, **others: object) -> object:
        touched.reads.append(defaultdict(set))
        touched.writes.append(defaultdict(set))
        return run(self, *arguments, **others)

    def counted_load(self: InterpreterBuilder, ptrs: TensorHandle, mask: TensorHandle, *others: object) -> TensorHandle:
        touched.reads[-1][interpreter_builder.grid_idx] |= _addresses(ptrs, mask)
        return load(self, ptrs, mask, *others)

    def counted_store(
        self: InterpreterBuilder, ptrs: TensorHandle, value: TensorHandle, mask: TensorHandle, *others: object
    ) -> object:
        touched.writes[-1][interpreter_builder.grid_idx] |= _addresses(ptrs, mask)
        return store(self, ptrs, value, mask, *others)

    def counted_update(
        self: InterpreterBuilder,
        operation: object,
        ptrs: TensorHandle,
        value: TensorHandle,
        mask: TensorHandle,
        *others: object,
    ) -> TensorHandle:
        for programs in (touched.reads[-1], touched.writes[-1]):
            programs[interpreter_builder.grid_idx] |= _addresses(ptrs, mask)
        return update(self, operation, ptrs, value, mask, *others)

    with (
        mock.patch.object(GridExecutor, "__call__", counted_run),
        mock.patch.object(InterpreterBuilder, "create_masked_load", counted_load),
        mock.patch.object(InterpreterBuilder, "create_masked_store", counted_store),
        mock.patch.object(InterpreterBuilder, "create_atomic_rmw", counted_update),
    ):
        yield touched


def _addresses(ptrs: TensorHandle, mask: TensorHandle) -> Addresses:
    size = ptrs.get_element_ty().primitive_bitwidth // 8
    starts = np.unique(ptrs.data[np.broadcast_to(mask.data, ptrs.data.shape).astype(bool)]).astype(np.int64)
    return set((starts[:, None] + np.arange(size)).ravel().tolist())
