"""One view of the files of a model for whoever loads it, whether they are GGUF or a Hugging Face folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

import torch
from torch import Tensor

from runtime.errors import CheckpointError
from runtime.formats.gguf import GGUFFile, dequantize_into
from runtime.formats.safetensors import SafetensorsCheckpoint
from runtime.formats.weights.gguf_blocks import block_format, matrix_of_blocks
from runtime.formats.weights.layout import CheckpointLayout, check_admission, outline
from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.config import DecoderConfig
from runtime.models.fields import Fields
from runtime.models.gguf_config import ROPE_DIVISORS, with_tensor_facts
from runtime.models.quantization import read_quantization
from runtime.models.registry import Adapter, adapter_for
from runtime.models.weights import Slot

Shapes = tuple[tuple[int, ...], ...]


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

    def may_ignore(self, name: str) -> bool:
        """Whether a tensor that no slot asks for changes nothing."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, outermost dimension first."""

    def module(self, slot: Slot) -> str:
        """What the names of a slot's tensors begin with."""

    def stored(self, slot: Slot) -> Mapping[str, Shapes]:
        """The tensors that a slot is read from, and the shapes that each may have."""

    def stated(self, slot: Slot) -> str:
        """The settings that say in which format a slot's matrix is stored; empty where there is no choice."""

    def packed_nbytes(self, slot: Slot) -> int | None:
        """Bytes of a slot's matrix in the files where it is quantised; None where it is not."""

    def packed(self, slot: Slot) -> PackedMatrix:
        """A slot's quantised matrix, converted to this repository's conventions, on the CPU."""

    def outline(self, slot: Slot) -> PackedMatrix | None:
        """What `packed` gives, with shapes alone for all that is large; None where the matrix is not quantised."""

    def read(self, slot: Slot, target: Tensor) -> None:
        """Read a slot's tensor into a contiguous place of its shape, converted to this repository's conventions."""


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

    def may_ignore(self, name: str) -> bool:
        return name == ROPE_DIVISORS

    def shape(self, name: str) -> tuple[int, ...]:
        return self._file.tensors[name].shape

    def module(self, slot: Slot) -> str:
        return self.adapter.gguf_names[slot.role].format(layer=slot.layer)

    def stored(self, slot: Slot) -> Mapping[str, Shapes]:
        return {self._name(slot): (slot.shape,)}

    def stated(self, slot: Slot) -> str:
        return ""

    def packed_nbytes(self, slot: Slot) -> int | None:
        tensor = self._file.tensors[self._name(slot)]
        quantised = slot.kind in ("matrix", "table") and block_format(tensor.type) is not None
        return tensor.nbytes if quantised else None

    def packed(self, slot: Slot) -> PackedMatrix:
        matrix = matrix_of_blocks(self._file.tensors[self._name(slot)])
        if not self._in_pairs(slot):
            return matrix
        blocks = rows_in_halves(matrix.parts["blocks"], self.config.head_dim)
        return PackedMatrix(matrix.spec, matrix.shape, matrix.group_size, {"blocks": blocks})

    def outline(self, slot: Slot) -> PackedMatrix | None:
        tensor = self._file.tensors[self._name(slot)]
        spec = block_format(tensor.type)
        if slot.kind not in ("matrix", "table") or spec is None:
            return None
        n, k = slot.shape
        return PackedMatrix.empty(spec, n, k, tensor.type.block_size, "meta")

    def read(self, slot: Slot, target: Tensor) -> None:
        tensor = self._file.tensors[self._name(slot)]
        if self._in_pairs(slot):
            rows = torch.empty_like(target)
            dequantize_into(tensor, rows)
            target.copy_(rows_in_halves(rows, self.config.head_dim))
        else:
            dequantize_into(tensor, target)

    def _name(self, slot: Slot) -> str:
        return self.module(slot) + slot.suffix

    def _in_pairs(self, slot: Slot) -> bool:
        return self.adapter.gguf_rows_in_pairs and slot.role in ("layer.q", "layer.k")

    def _rope_divisors(self, head_dim: int) -> tuple[float, ...]:
        if ROPE_DIVISORS not in self.names:
            return ()
        found, expected = self.shape(ROPE_DIVISORS), (head_dim // 2,)
        if found != expected:
            refuse_shape(self.path, ROPE_DIVISORS, found, (expected,))
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
        self._quantization = read_quantization(path, fields)

    def may_ignore(self, name: str) -> bool:
        """Tied models may repeat the embedding as head; old ones stored the rotary frequencies too.

        GPTQ's tools give every quantised matrix a bias, which is zero where the model has none.
        """
        module, _, kind = name.rpartition(".")
        if name.endswith(".rotary_emb.inv_freq") or (
            self.config.tied_embeddings and name == f"{self.adapter.hf_names['head']}.weight"
        ):
            return True
        if self._quantization is None:
            return False
        is_zero_bias = kind == "bias" and self._quantization.layout(module) and not self._files.read(name).any()
        return bool(is_zero_bias) or self._quantization.may_ignore(name)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._files.shape(name)

    def module(self, slot: Slot) -> str:
        return self.adapter.hf_names[slot.role].format(layer=slot.layer)

    def stored(self, slot: Slot) -> Mapping[str, Shapes]:
        module, layout = self.module(slot), self._layout(slot)
        if layout is None:
            return {module + slot.suffix: (slot.shape,)}
        n, k = slot.shape
        check_admission(layout, n, k, self._place(slot))
        return {
            module + name: tensor.shapes
            for name, tensor in layout.stored(n, k).items()
            if not tensor.optional or module + name in self.names
        }

    def stated(self, slot: Slot) -> str:
        if slot.kind != "matrix":
            return ""
        if self._quantization is None:
            return f"{self.path / 'config.json'}: quantization_config is not set"
        return self._quantization.stated(self.module(slot))

    def packed_nbytes(self, slot: Slot) -> int | None:
        if self._layout(slot) is None:
            return None
        return sum(self._files.nbytes(name) for name in self.stored(slot))

    def packed(self, slot: Slot) -> PackedMatrix:
        layout, module = self._layout(slot), self.module(slot)
        assert layout is not None, f"{module} is not quantised"
        n, k = slot.shape
        tensors = {name.removeprefix(module): self._files.read(name) for name in self.stored(slot)}
        return layout.prepare(tensors, n, k, self._place(slot))

    def outline(self, slot: Slot) -> PackedMatrix | None:
        layout, module = self._layout(slot), self.module(slot)
        if layout is None:
            return None
        n, k = slot.shape
        names = {name.removeprefix(module): name for name in self.stored(slot)}
        return outline(layout, _Unread(self._files.read, names), n, k, self._place(slot))

    def read(self, slot: Slot, target: Tensor) -> None:
        if self._layout(slot) is not None:
            self.packed(slot).dequantize_into(target)
            return
        self._files.read_into(self.module(slot) + slot.suffix, target)
        if self.adapter.hf_norms_less_one and slot.kind == "norm":
            target.add_(1.0)

    def _place(self, slot: Slot) -> str:
        return f"{self.path}: {self.module(slot)}"

    def _layout(self, slot: Slot) -> CheckpointLayout | None:
        """How a slot's matrix is stored; None for plain floats."""
        if slot.kind != "matrix" or self._quantization is None:
            return None
        return self._quantization.layout(self.module(slot))


@dataclass(frozen=True, slots=True)
class _Unread(Mapping[str, Tensor]):
    """Tensors by what a layout calls them -> their names in the files; each is read when it is looked up."""

    read: Callable[[str], Tensor]
    names: Mapping[str, str]

    def __getitem__(self, name: str) -> Tensor:
        return self.read(self.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Open a .gguf file, or a folder with config.json and safetensors.

    Raises:
        CheckpointError: there is neither, it is damaged, or its model is not supported.
    """
    path = Path(path)
    if not path.exists():
        raise CheckpointError(f"{path}: no such file or folder. Name a .gguf file or a Hugging Face model folder.")
    return HFCheckpoint(path) if path.is_dir() else GGUFCheckpoint(path)


def rows_in_halves(rows: Tensor, head_dim: int) -> Tensor:
    """Rows [N D, ...] of heads whose neighbours rotate together, reordered so that first and second halves do.

    llama.cpp's converter applies the inverse to the query and key rows of Llama (`LlamaModel.permute`).
    """
    return rows.view(-1, head_dim // 2, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def refuse_shape(path: Path, name: str, found: tuple[int, ...], expected: Shapes, because: str = "") -> NoReturn:
    """Raise the CheckpointError about a tensor that has none of the shapes that are expected of it.

    Args:
        because: the settings that ask for them, as they follow in the sentence.
    """
    asked = " or ".join(str(list(shape)) for shape in expected)
    raise CheckpointError(
        f"{path}: tensor {name!r} has the shape {list(found)}, and the config asks for {asked}{because}. "
        "One of them is wrong: correct the config, or download the checkpoint again."
    )
