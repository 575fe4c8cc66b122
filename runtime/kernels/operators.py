"""The element-wise operators of a model as one value, so that what runs them is decided once and can be replaced."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.paged import KVPages
from runtime.kernels.reference.activation import gelu_tanh_and_mul, silu_and_mul
from runtime.kernels.reference.embedding import embedding
from runtime.kernels.reference.filters import Filters
from runtime.kernels.reference.kv_write import rotate_and_write, write_pages
from runtime.kernels.reference.norm import add_rms_norm, rms_norm
from runtime.kernels.reference.sampling import draw_tokens
from runtime.kernels.rotation import Rotation
from runtime.kernels.selector import select_kernels


class Embedding(Protocol):
    def __call__(
        self,
        table: Tensor | PackedMatrix,
        tokens: Tensor,
        dtype: torch.dtype,
        scale: float,
        room: Tensor | None = None,
    ) -> Tensor: ...


class RmsNorm(Protocol):
    def __call__(
        self, x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None, room: Tensor | None = None
    ) -> Tensor: ...


class AddRmsNorm(Protocol):
    def __call__(
        self,
        residual: Tensor,
        branch: Tensor,
        weight: Tensor,
        eps: float,
        dtype: torch.dtype,
        post_weight: Tensor | None = None,
        room: Tensor | None = None,
    ) -> Tensor: ...


class GatedActivation(Protocol):
    def __call__(self, x: Tensor) -> Tensor: ...


class WritePages(Protocol):
    def __call__(self, pages: KVPages, slots: Tensor, keys: Tensor, values: Tensor) -> None: ...


class RotateAndWrite(Protocol):
    def __call__(
        self, pages: KVPages, slots: Tensor, heads: Tensor, rotation: Rotation, room: Tensor | None = None
    ) -> Tensor: ...


class DrawTokens(Protocol):
    def __call__(self, logits: Tensor, filters: Sequence[Filters], uniforms: Sequence[float]) -> Tensor: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators:
    """One way to run each operator; `runtime.kernels.reference` describes them.

    Where an operator is given `room`, contiguous memory of its result's size and dtype, it may put the result there and
    return that: callers read what is returned.
    """

    embedding: Embedding
    rms_norm: RmsNorm
    add_rms_norm: AddRmsNorm
    silu_and_mul: GatedActivation
    gelu_tanh_and_mul: GatedActivation
    write_pages: WritePages
    rotate_and_write: RotateAndWrite
    draw_tokens: DrawTokens


REFERENCE = Operators(
    embedding=embedding,
    rms_norm=rms_norm,
    add_rms_norm=add_rms_norm,
    silu_and_mul=silu_and_mul,
    gelu_tanh_and_mul=gelu_tanh_and_mul,
    write_pages=write_pages,
    rotate_and_write=rotate_and_write,
    draw_tokens=draw_tokens,
)


def operators_for(platform: str, dtype: str) -> Operators:
    """The operators of a platform and a compute dtype, both by name. Warns where a missing package costs speed."""
    chosen = select_kernels(platform, dtype)
    if chosen.name == "triton":
        return _triton()
    if chosen.remedy:
        warnings.warn(f"{chosen.refusal}, so slower kernels run: {chosen.remedy}", RuntimeWarning, stacklevel=2)
    return REFERENCE


def _triton() -> Operators:
    """Imported here only: other platforms need no Triton."""
    from runtime.kernels.triton import activation, kv_write, norm, sampling
    from runtime.kernels.triton.embedding import embedding as gather

    return Operators(
        embedding=gather,
        rms_norm=norm.rms_norm,
        add_rms_norm=norm.add_rms_norm,
        silu_and_mul=activation.silu_and_mul,
        gelu_tanh_and_mul=activation.gelu_tanh_and_mul,
        write_pages=kv_write.write_pages,
        rotate_and_write=kv_write.rotate_and_write,
        draw_tokens=sampling.draw_tokens,
    )
