"""One view of the files of a model for whoever loads it, whether they are GGUF or a Hugging Face folder."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from runtime.errors import CheckpointError
from runtime.formats.gguf import GGUFFile, dequantize_into
from runtime.formats.safetensors import SafetensorsCheckpoint
from runtime.models.config import DecoderConfig
from runtime.models.fields import Fields
from runtime.models.gguf_config import ROPE_DIVISORS, with_tensor_facts
from runtime.models.registry import Adapter, adapter_for
from runtime.models.weights import Slot


class Checkpoint(Protocol):
    """A checkpoint of a known family. Its files are mapped for as long as it lives.

    Attributes:
        path: for error messages.
        adapter: of its family.
        config: of its decoder.
        names: of all its tensors.
        text_source: what its tokenizer and its chat template are read from.
    """

    path: Path
    adapter: Adapter
    config: DecoderConfig
    names: Collection[str]
    text_source: GGUFFile | Path

    def name(self, slot: Slot) -> str:
        """What the checkpoint calls the tensor of a slot."""

    def may_ignore(self, name: str) -> bool:
        """Whether a tensor that no slot asks for changes nothing."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, outermost dimension first."""

    def read(self, slot: Slot) -> None:
        """Read a slot's tensor into its place, converted to this repository's conventions."""


class GGUFCheckpoint:
    """A GGUF file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = GGUFFile.open(path)
        self.text_source: GGUFFile | Path = self._file
        self.names: Collection[str] = self._file.tensors.keys()
        metadata, place = self._file.metadata, f"{path}: metadata"
        architecture = Fields(metadata, place).text("general.architecture")
        self.adapter = adapter_for(architecture, f"{place}: general.architecture")
        config = self.adapter.from_gguf(Fields(metadata, place, f"{architecture}."))
        self.config = with_tensor_facts(config, self.names, self._rope_divisors(config.head_dim))

    def name(self, slot: Slot) -> str:
        return f"{self.adapter.gguf_names[slot.role].format(layer=slot.layer)}.{slot.kind}"

    def may_ignore(self, name: str) -> bool:
        return name == ROPE_DIVISORS

    def shape(self, name: str) -> tuple[int, ...]:
        return self._file.tensors[name].shape

    def read(self, slot: Slot) -> None:
        tensor = self._file.tensors[self.name(slot)]
        if self.adapter.gguf_rows_in_pairs and slot.role in ("layer.q", "layer.k"):
            stored = torch.empty_like(slot.target)
            dequantize_into(tensor, stored)
            slot.target.copy_(rows_in_halves(stored, self.config.head_dim))
        else:
            dequantize_into(tensor, slot.target)

    def _rope_divisors(self, head_dim: int) -> tuple[float, ...]:
        if ROPE_DIVISORS not in self.names:
            return ()
        _check_shape(self.path, ROPE_DIVISORS, self.shape(ROPE_DIVISORS), (head_dim // 2,))
        divisors = torch.empty(head_dim // 2)
        dequantize_into(self._file.tensors[ROPE_DIVISORS], divisors)
        return tuple(divisors.tolist())


class HFCheckpoint:
    """A folder with config.json and safetensors, as Hugging Face lays it out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = SafetensorsCheckpoint(path)
        self.text_source: GGUFFile | Path = path
        self.names: Collection[str] = frozenset(self._files.names)
        fields = Fields(self._files.config, f"{path / 'config.json'}")
        self.adapter = adapter_for(fields.text("model_type"), f"{fields.place}: model_type")
        self.config = self.adapter.from_hf(fields)

    def name(self, slot: Slot) -> str:
        return f"{self.adapter.hf_names[slot.role].format(layer=slot.layer)}.{slot.kind}"

    def may_ignore(self, name: str) -> bool:
        """Tied models may repeat the embedding as head; old ones stored the rotary frequencies too."""
        head = f"{self.adapter.hf_names['head']}.weight"
        return name.endswith(".rotary_emb.inv_freq") or (self.config.tied_embeddings and name == head)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._files.shape(name)

    def read(self, slot: Slot) -> None:
        self._files.read_into(self.name(slot), slot.target)
        if self.adapter.hf_norms_less_one and slot.role.endswith("norm"):
            slot.target.add_(1.0)


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Open a .gguf file, or a folder with config.json and safetensors.

    Raises:
        CheckpointError: there is neither, it is damaged, or its model is not supported.
    """
    path = Path(path)
    if not path.exists():
        raise CheckpointError(f"{path}: no such file or folder. Name a .gguf file or a Hugging Face model folder.")
    return HFCheckpoint(path) if path.is_dir() else GGUFCheckpoint(path)


def check_tensors(checkpoint: Checkpoint, slots: Collection[Slot]) -> None:
    """Compare the tensors that there are with those that the config asks for, before any is read.

    Raises:
        CheckpointError: a tensor is missing, has another shape, or has no place in the model.
    """
    wanted = {checkpoint.name(slot): tuple(slot.target.shape) for slot in slots}
    if missing := [name for name in wanted if name not in checkpoint.names]:
        raise CheckpointError(
            f"{checkpoint.path}: tensor {_first(missing)} is missing, which the config of this "
            f"{checkpoint.config.family} model asks for. Is the download complete?"
        )
    for name, shape in wanted.items():
        _check_shape(checkpoint.path, name, checkpoint.shape(name), shape)
    if extra := [name for name in checkpoint.names if name not in wanted and not checkpoint.may_ignore(name)]:
        raise CheckpointError(
            f"{checkpoint.path}: tensor {_first(extra)} has no place in the {checkpoint.config.family} model that the "
            f"config describes. The model has a part that is not supported, or the config is another model's."
        )


def rows_in_halves(rows: Tensor, head_dim: int) -> Tensor:
    """Rows [N D, ...] of heads whose neighbours rotate together, reordered so that first and second halves do.

    llama.cpp's converter applies the inverse to the query and key rows of Llama (`LlamaModel.permute`).
    """
    return rows.view(-1, head_dim // 2, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def _check_shape(path: Path, name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if found != expected:
        raise CheckpointError(
            f"{path}: tensor {name!r} has the shape {list(found)}, and the config asks for {list(expected)}. "
            f"Config and tensors are of different models."
        )


def _first(names: list[str]) -> str:
    return repr(names[0]) if len(names) == 1 else f"{names[0]!r} (one of {len(names)})"
