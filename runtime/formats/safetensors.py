"""Checkpoint folders in Hugging Face's layout: `config.json` beside `model.safetensors`, or beside shards and an index.

Source: https://huggingface.co/docs/safetensors and the index that `transformers`' `save_pretrained` writes.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from safetensors import SafetensorError, safe_open

from runtime.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

_FLOATS = ("F64", "F32", "F16", "BF16")
_WIDTH = re.compile(r"\d+")
"""The bits of an element in the name of its dtype, as in F8_E4M3; BOOL has none, and takes a byte."""

_DOWNLOAD_AGAIN = "Download the checkpoint again"


class _Slice(Protocol):
    def get_shape(self) -> list[int]: ...

    def get_dtype(self) -> str: ...


class _Shard(Protocol):
    """What this module uses of an open file; the library's own stubs leave it untyped."""

    def keys(self) -> list[str]: ...

    def get_slice(self, name: str) -> _Slice: ...

    def get_tensor(self, name: str) -> Tensor: ...


def read_json(path: Path) -> dict[str, object]:
    """The object in a JSON file of a checkpoint.

    Raises:
        CheckpointError: the file is absent, unreadable, no JSON or no object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}. {_DOWNLOAD_AGAIN}.") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not valid JSON ({error}). {_DOWNLOAD_AGAIN}.") from None
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: holds no JSON object. {_DOWNLOAD_AGAIN}.")
    return content


class SafetensorsCheckpoint:
    """A folder's weights, mapped into memory and read one tensor at a time.

    Attributes:
        config: what `config.json` says.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open every shard; no tensor is read.

        Raises:
            CheckpointError: no checkpoint folder, or a shard is missing, damaged, or lacks what the index promises.
        """
        self.path = Path(path)
        if not self.path.is_dir():
            raise CheckpointError(f"{self.path}: not a folder. Name the folder that holds config.json and {SINGLE}.")
        self.config: Mapping[str, object] = read_json(self.path / "config.json")
        self._shards: dict[str, tuple[Path, _Shard]] = {}
        if (self.path / INDEX).exists():
            self._open_shards(_read_index(self.path / INDEX))
        elif (self.path / SINGLE).exists():
            self._add(self.path / SINGLE)
        else:
            raise CheckpointError(f"{self.path}: holds neither {SINGLE} nor {INDEX}. {_DOWNLOAD_AGAIN}.")

    @property
    def names(self) -> Sequence[str]:
        """Every tensor's name, sorted."""
        return sorted(self._shards)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""
        _, shard = self._shard(name)
        return tuple(shard.get_slice(name).get_shape())

    def nbytes(self, name: str) -> int:
        """Bytes of a tensor in its file, without reading it."""
        _, shard = self._shard(name)
        stored = shard.get_slice(name)
        width = _WIDTH.search(stored.get_dtype())
        return math.prod(stored.get_shape()) * (int(width[0]) if width else 8) // 8

    def read(self, name: str) -> Tensor:
        """A copy of a tensor as it is stored, which the file need not outlive.

        Raises:
            CheckpointError: no such tensor, or one of a dtype that torch does not have.
        """
        path, shard = self._shard(name)
        try:
            return shard.get_tensor(name).clone()
        except (SafetensorError, AttributeError) as error:
            _refuse(path, name, str(error), "Use a checkpoint of another format")

    def read_into(self, name: str, out: Tensor) -> None:
        """Copy a tensor into `out` (same shape, any float dtype and device), converting on the way.

        Raises:
            CheckpointError: no such tensor, another shape, or not stored as F64, F32, F16 or BF16.
        """
        path, shard = self._shard(name)
        stored = shard.get_slice(name)
        if stored.get_dtype() not in _FLOATS:
            wanted = ", ".join(_FLOATS)
            _refuse(path, name, f"stored as {stored.get_dtype()}", f"Use a checkpoint stored as one of: {wanted}")
        if tuple(stored.get_shape()) != tuple(out.shape):
            found = tuple(stored.get_shape())
            _refuse(path, name, f"shape {found}, but config.json asks for {tuple(out.shape)}", _DOWNLOAD_AGAIN)
        out.copy_(shard.get_tensor(name))

    def _shard(self, name: str) -> tuple[Path, _Shard]:
        try:
            return self._shards[name]
        except KeyError:
            _refuse(self.path, name, "the checkpoint has no such tensor", _DOWNLOAD_AGAIN)

    def _open_shards(self, weight_map: Mapping[str, str]) -> None:
        for shard in sorted(set(weight_map.values())):
            self._add(self.path / shard)
        for name, shard in weight_map.items():
            found = self._shards.get(name)
            if found is None or found[0] != self.path / shard:
                _refuse(self.path / INDEX, name, f"{shard} does not hold it", _DOWNLOAD_AGAIN)

    def _add(self, path: Path) -> None:
        try:
            shard: _Shard = safe_open(path, framework="pt")
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path}: {error}. {_DOWNLOAD_AGAIN}.") from None
        for name in shard.keys():  # noqa: SIM118 (it is no dict: it cannot be iterated)
            if name in self._shards:
                _refuse(path, name, f"also in {self._shards[name][0].name}", _DOWNLOAD_AGAIN)
            self._shards[name] = path, shard


def _read_index(path: Path) -> Mapping[str, str]:
    weight_map = read_json(path).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CheckpointError(f"{path}: has no `weight_map`. {_DOWNLOAD_AGAIN}.")
    for name, shard in weight_map.items():
        if not isinstance(shard, str) or not shard.endswith(".safetensors") or Path(shard).name != shard:
            _refuse(path, name, f"{shard!r} names no shard of this folder", "Do not use this checkpoint")
    return weight_map


def _refuse(path: Path, name: str, problem: str, remedy: str) -> NoReturn:
    raise CheckpointError(f"{path}: tensor {name[:80]!r}: {problem}. {remedy}.")
