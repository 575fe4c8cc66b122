"""How a card holds the matrices of a model: in which formats and in how many bytes, without reading them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from runtime.formats.weights.declarations import WeightFormatSpec, admission, usual_group_size, weight_format
from runtime.formats.weights.matrix import PackedMatrix, concat_refusal, concat_rows
from runtime.linear.selector import DENSE
from runtime.models.agreement import check_tensors
from runtime.models.checkpoint import Checkpoint
from runtime.models.config import DecoderConfig
from runtime.models.weights import Slot, all_slots, layer_slots, model_slots

_HALF = 2


@dataclass(frozen=True, slots=True)
class HeldMatrix:
    """A matrix [outputs, inputs].

    Attributes:
        format: its name, which is `dense` for float16.
        nbytes: that a product reads of it.
        order_nbytes: of the order that the inputs of a product are put into before; 0 where they stay as they are.
    """

    outputs: int
    inputs: int
    format: str
    nbytes: int
    order_nbytes: int = 0


Stack = tuple[HeldMatrix, ...]
"""Matrices whose rows follow one another: one, or one for each tensor where they cannot stand in one."""


@dataclass(frozen=True, slots=True)
class HeldWeights:
    """How the weights of a model are held.

    Attributes:
        config: of the decoder.
        outline: gives the quantised matrix of a slot, in shapes only; None for halves.
        dense_reasons: which matrices of layers are held as halves though a format was asked for, each with the reason.
    """

    config: DecoderConfig
    outline: Callable[[Slot], PackedMatrix | None]
    dense_reasons: tuple[str, ...] = ()

    @property
    def embedding(self) -> HeldMatrix:
        return self._stack([model_slots(self.config)["embedding"]])[0]

    @property
    def head(self) -> HeldMatrix:
        """The embedding, where they are tied."""
        slots = model_slots(self.config)
        return self._stack([slots.get("head", slots["embedding"])])[0]

    def layers(self, field: str) -> Counter[Stack]:
        """What a field of `LayerWeights` is, and in how many layers; in the order of the first of these."""
        return Counter(self._stack(layer_slots(self.config, layer)[field]) for layer in range(len(self.config.layers)))

    def _stack(self, slots: Sequence[Slot]) -> Stack:
        """As `WeightReader` makes it."""
        matrices = [self.outline(slot) for slot in slots]
        packed = [matrix for matrix in matrices if matrix is not None]
        if not packed:
            return (_dense(slots),)
        if len(packed) == len(slots) and concat_refusal(packed) is None:
            return (_packed(concat_rows(packed)),)
        return tuple(
            _dense([slot]) if matrix is None else _packed(matrix) for slot, matrix in zip(slots, matrices, strict=True)
        )


def held_weights(checkpoint: Checkpoint, form: str | None = None, *, packed: bool = True) -> HeldWeights:
    """The weights of a checkpoint as they would be held.

    Args:
        form: as if all were in the format of this name; None for that of each in the files.
        packed: whether what is quantised in the files stays so.

    Raises:
        CheckpointError: a tensor is missing, has another shape than the config asks for, or no place in the model.
        ConfigError: no format is called that.
    """
    if form is not None:
        return as_if(checkpoint.config, None if form == DENSE else weight_format(form))
    check_tensors(checkpoint, list(all_slots(checkpoint.config)))
    return HeldWeights(checkpoint.config, checkpoint.outline) if packed else as_if(checkpoint.config, None)


def as_if(config: DecoderConfig, spec: WeightFormatSpec | None) -> HeldWeights:
    """The weights as if they had been quantised into one format, in groups of the usual size; None for halves.

    Table and head stay halves, as quantised checkpoints have them, except in GGUF formats.
    """
    if spec is None:
        return HeldWeights(config, lambda _slot: None)
    refused: dict[str, str] = {}
    for field, slots in layer_slots(config, 0).items():
        for slot in slots:
            if slot.kind == "matrix" and (refusal := _refusal(spec, slot)):
                refused.setdefault(field, f"{field}: {refusal}")

    def outline(slot: Slot) -> PackedMatrix | None:
        is_quantised = slot.role.startswith("layer.") or spec.layout == "gguf"
        return _quantised(spec, slot) if is_quantised and _refusal(spec, slot) is None else None

    return HeldWeights(config, outline, tuple(refused.values()))


def _refusal(spec: WeightFormatSpec, slot: Slot) -> str | None:
    outputs, inputs = slot.shape
    return admission(spec, outputs, inputs, usual_group_size(spec))


def _quantised(spec: WeightFormatSpec, slot: Slot) -> PackedMatrix:
    outputs, inputs = slot.shape
    matrix = PackedMatrix.empty(spec, outputs, inputs, usual_group_size(spec), "meta")
    if "global_scale" not in matrix.parts:
        return matrix
    # Tools give the parts of a fused matrix one scale, and what is compared must hold numbers.
    return replace(matrix, parts={**matrix.parts, "global_scale": torch.ones(1)})


def _dense(slots: Sequence[Slot]) -> HeldMatrix:
    outputs, inputs = sum(slot.shape[0] for slot in slots), slots[0].shape[1]
    return HeldMatrix(outputs, inputs, DENSE, _HALF * outputs * inputs)


def _packed(matrix: PackedMatrix) -> HeldMatrix:
    outputs, inputs = matrix.shape
    order = matrix.parts["order"].nbytes if "order" in matrix.parts else 0
    return HeldMatrix(outputs, inputs, matrix.spec.name, matrix.nbytes - order, order)
