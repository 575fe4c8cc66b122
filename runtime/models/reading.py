"""Reading the weights of a decoder: what is quantised stays packed, or is decoded once into the compute dtype.

Storage of a fused matrix is reserved once, and tensors are read straight into their rows; a packed matrix of several
parts is put together from theirs. Beside what is kept, only the parts of one field are ever held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix, concat_refusal, concat_rows
from runtime.models.checkpoint import Checkpoint
from runtime.models.weights import (
    DecoderWeights,
    LayerWeights,
    Matrix,
    Slot,
    Stack,
    all_slots,
    layer_slots,
    model_slots,
)


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far loading has come, in tensors and in bytes: those of the file where a matrix stays packed, else those of
    the loaded model."""

    tensors: int
    total_tensors: int
    nbytes: int
    total_nbytes: int


ProgressCallback = Callable[[LoadProgress], None]


class WeightReader:
    """Reads every tensor of a checkpoint once.

    Args:
        dtype: of what is not packed.
        device: where the weights shall live.
        keep_packed: whether quantised matrices stay as they are.
        progress: called after every tensor.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        dtype: torch.dtype,
        device: torch.device,
        keep_packed: bool,
        progress: ProgressCallback | None,
    ) -> None:
        self._checkpoint = checkpoint
        self._dtype = dtype
        self._device = device
        self._keep_packed = keep_packed
        self._progress = progress
        sizes = [self._nbytes(slot) for slot in all_slots(checkpoint.config)]
        self._done = LoadProgress(0, len(sizes), 0, sum(sizes))

    def weights(self) -> DecoderWeights:
        """All of them. Raises CheckpointError where a tensor cannot be read."""
        config = self._checkpoint.config
        slots = model_slots(config)
        embedding = self._matrix(slots["embedding"])
        layers = tuple(self._layer(layer_slots(config, index)) for index in range(len(config.layers)))
        head = self._matrix(slots["head"]) if "head" in slots else embedding
        return DecoderWeights(embedding, layers, self._tensor((slots["final_norm"],)), head)

    def _layer(self, fields: dict[str, tuple[Slot, ...]]) -> LayerWeights:
        read: dict[str, Tensor | PackedMatrix | Stack] = {}
        for name, slots in fields.items():
            if slots[0].kind != "matrix":
                read[name] = self._tensor(slots)
            else:
                read[name] = self._stack(slots) if len(slots) > 1 else self._matrix(slots[0])
        return LayerWeights(**read)  # type: ignore[arg-type]

    def _matrix(self, slot: Slot) -> Matrix:
        return self._stack((slot,))[0]

    def _stack(self, slots: tuple[Slot, ...]) -> Stack:
        """One matrix of the rows of all slots, or one each where they cannot stand in one."""
        packed = [self._packs(slot) for slot in slots]
        if not any(packed):
            return (self._tensor(slots),)
        if not all(packed):
            return tuple(self._matrix(slot) for slot in slots)
        matrices = [self._packed(slot) for slot in slots]
        if concat_refusal(matrices):
            return tuple(matrix.to(self._device) for matrix in matrices)
        return (concat_rows(matrices).to(self._device),)

    def _tensor(self, slots: tuple[Slot, ...]) -> Tensor:
        rows = [slot.shape[0] for slot in slots]
        dtype = torch.float32 if slots[0].kind == "norm" else self._dtype
        tensor = torch.empty(sum(rows), *slots[0].shape[1:], dtype=dtype, device=self._device)
        for slot, part in zip(slots, tensor.split_with_sizes(rows), strict=True):
            self._checkpoint.read(slot, part)
            self._advance(slot)
        return tensor

    def _packed(self, slot: Slot) -> PackedMatrix:
        matrix = self._checkpoint.packed(slot)
        self._advance(slot)
        return matrix

    def _packs(self, slot: Slot) -> bool:
        return self._keep_packed and self._checkpoint.packed_nbytes(slot) is not None

    def _nbytes(self, slot: Slot) -> int:
        """What progress counts for a slot."""
        packed = self._checkpoint.packed_nbytes(slot) if self._keep_packed else None
        itemsize = 4 if slot.kind == "norm" else self._dtype.itemsize
        return prod(slot.shape) * itemsize if packed is None else packed

    def _advance(self, slot: Slot) -> None:
        done = self._done
        self._done = LoadProgress(
            done.tensors + 1, done.total_tensors, done.nbytes + self._nbytes(slot), done.total_nbytes
        )
        if self._progress is not None:
            self._progress(self._done)
