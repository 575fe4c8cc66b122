"""The KV-cache codecs at work: the reference writer and reader of every declared format."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from runtime.formats.kv.declarations import KVCodecSpec, codec_spec


class KVCodec(Protocol):
    """Writes floats as stored elements and reads them back."""

    @property
    def spec(self) -> KVCodecSpec: ...

    @property
    def storage_dtype(self) -> torch.dtype: ...

    def encode(self, x: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
        """Stored elements of `x` (any shape, any float dtype): x / scale, rounded to nearest, ties to even.

        Args:
            x: the values.
            scale: positive; codecs that are not quantized have none, and take 1.0 only.
            out: where to store them, of `x`'s shape and `storage_dtype`; a new tensor otherwise.

        Returns:
            `out`, or a tensor that may be `x` itself where nothing has to be converted.
        """

    def decode(self, stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        """The values of `stored` in `dtype`: element * scale. It may be `stored` itself where nothing is converted."""


def get_codec(name: str, model_dtype: torch.dtype | None = None) -> KVCodec:
    """The codec of that name or alias; "auto" is the one that stores `model_dtype`. Raises ConfigError."""
    dtype_name = None if model_dtype is None else str(model_dtype).removeprefix("torch.")
    return _codec(codec_spec(name, dtype_name))


@functools.cache
def _codec(spec: KVCodecSpec) -> KVCodec:
    storage = getattr(torch, spec.storage_dtype)
    element = getattr(torch, spec.element_dtype)
    return _Float8Codec(spec, storage, element) if spec.quantized else _FloatCodec(spec, storage)


@dataclass(frozen=True)
class _FloatCodec:
    """Stores a plain float: both directions are a cast."""

    spec: KVCodecSpec
    storage_dtype: torch.dtype

    def encode(self, x: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
        self._refuse_scale(scale)
        return x.to(self.storage_dtype) if out is None else out.copy_(x)

    def decode(self, stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        self._refuse_scale(scale)
        return stored.to(dtype)

    def _refuse_scale(self, scale: float) -> None:
        if scale != 1.0:
            raise ValueError(f"KV codec {self.spec.name} stores values as they are: its scale is 1.0, not {scale}")


@dataclass(frozen=True)
class _Float8Codec:
    """Stores an eight-bit float as its code, and reads codes through a table of their 256 values."""

    spec: KVCodecSpec
    storage_dtype: torch.dtype
    element_dtype: torch.dtype

    def encode(self, x: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
        limit = self.spec.max_finite
        scaled = x.float() if scale == 1.0 else x.float() / scale
        codes = scaled.clamp(-limit, limit).to(self.element_dtype).view(self.storage_dtype)
        return codes if out is None else out.copy_(codes)

    def decode(self, stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        # Scaling the table instead of what is read makes the scale free.
        table = _code_values(self.element_dtype, stored.device)
        scaled = (table if scale == 1.0 else table * scale).to(dtype)
        return scaled.index_select(0, stored.int().reshape(-1)).view(stored.shape)


@functools.cache
def _code_values(element_dtype: torch.dtype, device: torch.device) -> Tensor:
    """The value of every code, float32 [256]."""
    return torch.arange(256, dtype=torch.uint8).view(element_dtype).float().to(device)
