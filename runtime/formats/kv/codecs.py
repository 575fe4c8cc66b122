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
        """Stored elements of `x`: x / scale, rounded to nearest, ties to even.

        Args:
            x: the values, any float dtype, any shape [..., head_dim].
            scale: positive; 1.0 for codecs that have no scale of the cache.
            out: where to store them, [..., spec.row_elements(head_dim)] of `storage_dtype`; a new tensor otherwise.

        Returns:
            `out`, or a tensor that may be `x` itself where nothing has to be converted.
        """

    def decode(self, stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        """The values of `stored` in `dtype`: element * scale.

        It may be `stored` itself where nothing is converted; a codec whose rows bring scales gives [..., head_dim].
        """


def get_codec(name: str, model_dtype: torch.dtype | None = None) -> KVCodec:
    """The codec of that name or alias; "auto" is the one that stores `model_dtype`. Raises ConfigError."""
    dtype_name = None if model_dtype is None else str(model_dtype).removeprefix("torch.")
    return _codec(codec_spec(name, dtype_name))


@functools.cache
def _codec(spec: KVCodecSpec) -> KVCodec:
    storage = getattr(torch, spec.storage_dtype)
    if spec.scaling == "row":
        return _Int8Codec(spec, storage)
    if spec.scaling == "cache":
        return _Float8Codec(spec, storage, getattr(torch, spec.element_dtype))
    return _FloatCodec(spec, storage)


@dataclass(frozen=True)
class _FloatCodec:
    """Stores a plain float: both directions are a cast."""

    spec: KVCodecSpec
    storage_dtype: torch.dtype

    def encode(self, x: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
        _refuse_scale(self.spec, scale)
        return x.to(self.storage_dtype) if out is None else out.copy_(x)

    def decode(self, stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        _refuse_scale(self.spec, scale)
        return stored.to(dtype)


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


@dataclass(frozen=True)
class _Int8Codec:
    """Stores a row's channels as eight-bit integers, and behind them the float16 scale of every group of channels."""

    spec: KVCodecSpec
    storage_dtype: torch.dtype

    def encode(self, x: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
        _refuse_scale(self.spec, scale)
        head_dim = x.shape[-1]
        size = (*x.shape[:-1], self.spec.row_elements(head_dim))
        row = torch.empty(size, dtype=self.storage_dtype, device=x.device) if out is None else out
        row[..., head_dim:] = 0
        limit = self.spec.max_finite
        for index, group in enumerate(torch.split(x, self.spec.group_size or head_dim, -1)):
            wide = group.float()
            # What divides is the scale as it is stored, so that reading undoes exactly what writing did.
            scales = wide.abs().amax(-1, keepdim=True).div_(limit).half()
            codes = (wide / scales.float()).round_().clamp_(-limit, limit).nan_to_num_(0.0)
            first = index * self.spec.group_size
            codes = codes.masked_fill_(scales == 0, 0.0).to(torch.int8)
            row[..., first : first + group.shape[-1]] = codes.view(torch.uint8)
            place = head_dim + 2 * index
            row[..., place : place + 2] = scales.view(torch.uint8)
        return row

    def decode(self, stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        _refuse_scale(self.spec, scale)
        head_dim = stored.shape[-1] - self.spec.scale_bytes
        codes = stored[..., :head_dim].view(torch.int8).float()
        groups = torch.split(codes, self.spec.group_size or head_dim, -1)
        for index, group in enumerate(groups):
            place = head_dim + 2 * index
            group.mul_(stored[..., place : place + 2].contiguous().view(torch.float16))
        return codes.to(dtype)


def _refuse_scale(spec: KVCodecSpec, scale: float) -> None:
    if scale != 1.0:
        raise ValueError(f"KV codec {spec.name} has no scale of the cache: it is 1.0, not {scale}")


@functools.cache
def _code_values(element_dtype: torch.dtype, device: torch.device) -> Tensor:
    """The value of every code, float32 [256]."""
    return torch.arange(256, dtype=torch.uint8).view(element_dtype).float().to(device)
