"""A weight as the arguments of a kernel, and how kernels read each format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.formats.weights.declarations import WeightFormatSpec
from runtime.formats.weights.matrix import PackedMatrix

COLUMN_ALIGNMENT = 16
"""Columns come by so many, so that every row of codes consists of whole words."""


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """How kernels read a form; see `weight_units`.

    Attributes:
        weights, side: WEIGHTS and SIDE of its units.
        codes, scales, offsets: Triton's types of its parts; the first stands for parts that it does not have.
    """

    weights: int
    side: int
    codes: str
    scales: str
    offsets: str


# By form: formats that differ only in where they come from are read alike.
UNITS: Mapping[str, UnitSpec] = {
    "fp16": UnitSpec(4, 1, "*i64", "*i64", "*i64"),
    "int2": UnitSpec(16, 1, "*i32", "*fp16", "*u8"),
    "int3": UnitSpec(8, 1, "*u8", "*fp16", "*u8"),
    "int4": UnitSpec(8, 1, "*i32", "*fp16", "*u8"),
    "int8": UnitSpec(4, 1, "*i32", "*fp16", "*u8"),
    "fp8": UnitSpec(4, 1, "*i32", "*fp32", "*i32"),
    "nvfp4": UnitSpec(8, 1, "*i32", "*u8", "*fp32"),
    "mxfp4": UnitSpec(8, 1, "*i32", "*u8", "*i32"),
    "q4_0": UnitSpec(8, 4, "*u16", "*u16", "*u16"),
    "q4_1": UnitSpec(8, 4, "*u16", "*u16", "*u16"),
    "q5_0": UnitSpec(8, 4, "*u16", "*u16", "*u16"),
    "q5_1": UnitSpec(8, 4, "*u16", "*u16", "*u16"),
    "q8_0": UnitSpec(4, 1, "*u16", "*u16", "*u16"),
    "q2_k": UnitSpec(16, 8, "*u16", "*u16", "*u16"),
    "q3_k": UnitSpec(16, 8, "*u16", "*u16", "*u16"),
    "q4_k": UnitSpec(8, 8, "*u16", "*u16", "*u16"),
    "q5_k": UnitSpec(8, 8, "*u16", "*u16", "*u16"),
    "q6_k": UnitSpec(16, 8, "*u16", "*u16", "*u16"),
}

_ELEMENTS = {"*i64": torch.int64, "*i32": torch.int32, "*u16": torch.uint16, "*u8": torch.uint8}


@dataclass(frozen=True, slots=True)
class WeightOperands:
    """What kernels are told of a weight [N, K].

    Attributes:
        form: key of `UNITS`.
        codes, scales, offsets: its parts; the codes again for a part that it does not have.
        row_stride: elements of `codes` in a row.
        groups: scales in a row.
        group_size, group_rows: weights that share a scale, along K and along N.
        has_offsets: whether `offsets` are zeros of an integer format.
    """

    form: str
    codes: Tensor
    scales: Tensor
    offsets: Tensor
    row_stride: int
    groups: int
    group_size: int
    group_rows: int
    has_offsets: bool

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The parts, in the order of every kernel."""
        return self.codes, self.scales, self.offsets

    def numbers(self) -> tuple[int, int, int, int, int]:
        """The rest, in the order of every kernel."""
        return self.row_stride, self.groups, self.group_size, self.group_rows, int(self.has_offsets)


def form_of(spec: WeightFormatSpec) -> str:
    """The form in which kernels read a format."""
    match spec.layout:
        case "integer":
            return f"int{spec.bits}"
        case "float8":
            return "fp8"
        case "gguf":
            return spec.name.removeprefix("gguf_")
        case "nvfp4" | "mxfp4":
            return spec.layout


def column_order(weight: Tensor | PackedMatrix) -> Tensor | None:
    """The order in which a weight stores its columns, int32 [K]; None where it is that of the inputs."""
    return weight.parts.get("order") if isinstance(weight, PackedMatrix) else None


def ordered_inputs(x: Tensor, order: Tensor | None) -> Tensor:
    """x [M, K] with its columns in that order, contiguous."""
    if order is not None:
        return x.index_select(1, order)
    return x if x.is_contiguous() else x.contiguous()


def operands(weight: Tensor | PackedMatrix) -> WeightOperands:
    """The arguments for a weight: contiguous float16 [N, K], or packed; K is a multiple of `COLUMN_ALIGNMENT`.

    The columns of a packed matrix with an `order` are in that order.
    """
    if isinstance(weight, Tensor):
        codes = weight.view(torch.int64)
        return WeightOperands("fp16", codes, codes, codes, codes.shape[1], 1, weight.shape[1], 1, False)
    (n, k), spec, parts = weight.shape, weight.spec, weight.parts
    form = form_of(spec)
    stored = parts["blocks"] if spec.layout == "gguf" else parts["codes"]
    codes = stored.view(_ELEMENTS[UNITS[form].codes])
    scales = parts.get("scales", parts.get("block_scales", codes))
    offsets = parts.get("zeros", parts.get("global_scale", codes))
    return WeightOperands(
        form=form,
        codes=codes,
        scales=scales,
        offsets=offsets,
        row_stride=codes.shape[1],
        groups=scales.shape[1],
        group_size=weight.group_size or k,
        group_rows=spec.group_rows or n,
        has_offsets="zeros" in parts,
    )
