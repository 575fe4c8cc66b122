"""A quantised matrix as kernels read it: the tensors of one weight format, and what they say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from runtime.formats.weights.declarations import WeightFormatSpec, admission, weight_format
from runtime.formats.weights.decoding import decode_rows, ggml_type

_CHUNK = 1 << 18
"""Weights decoded at a time: what is held besides the result is a few times 1 MiB."""

PartLayout = tuple[torch.dtype, tuple[int, ...]]


def part_layouts(spec: WeightFormatSpec, n: int, k: int, group_size: int) -> Mapping[str, PartLayout]:
    """The dtype and the shape of every part, optional ones included, of a matrix [n, k].

    Groups are counted rounding up: the last of a row may be shorter.
    """
    groups = math.ceil(k / group_size) if group_size else 1
    codes = (torch.uint8, (n, k * spec.bits // 8))
    match spec.layout:
        case "integer":
            return {
                "codes": codes,
                "scales": (torch.float16, (n, groups)),
                "zeros": (torch.uint8, (n, groups)),
                "order": (torch.int32, (k,)),
            }
        case "float8":
            return {"codes": codes, "scales": (torch.float32, (math.ceil(n / (spec.group_rows or n)), groups))}
        case "nvfp4":
            scales = (torch.uint8, (n, groups))
            return {"codes": codes, "block_scales": scales, "global_scale": (torch.float32, (1,))}
        case "mxfp4":
            return {"codes": codes, "block_scales": (torch.uint8, (n, groups))}
        case "gguf":
            kind = ggml_type(spec)
            return {"blocks": (torch.uint8, (n, k // kind.block_size * kind.block_bytes))}


@dataclass(frozen=True, slots=True, eq=False)
class PackedMatrix:
    """A matrix of N outputs and K inputs in one weight format.

    Integers mean (code - zero) * scale, where a matrix without `zeros` has the zero 2**(bits - 1) everywhere. With an
    `order`, prepared column j is the original column order[j]: a product gathers its inputs by it.

    Attributes:
        spec: the format.
        shape: (N, K).
        group_size: neighbouring (prepared) columns that share a scale; 0 is the whole row.
        parts: name -> tensor, contiguous, all on one device; see `part_layouts`.

    Raises:
        ValueError: the format does not admit the shape, or a part is missing or not as `part_layouts` says.
    """

    spec: WeightFormatSpec
    shape: tuple[int, int]
    group_size: int
    parts: Mapping[str, Tensor]

    def __post_init__(self) -> None:
        if refusal := admission(self.spec, *self.shape, self.group_size):
            raise ValueError(refusal)
        missing = set(self.spec.parts) - set(self.parts)
        unknown = set(self.parts) - set(self.spec.parts) - set(self.spec.optional_parts)
        if missing or unknown:
            raise ValueError(f"{self.spec.name} is made of {self.spec.parts}, not of {tuple(self.parts)}")
        layouts = part_layouts(self.spec, *self.shape, self.group_size)
        for name, part in self.parts.items():
            if (part.dtype, tuple(part.shape)) != layouts[name] or not part.is_contiguous():
                raise ValueError(f"{self.spec.name}: {name} is {part.dtype} {list(part.shape)}, not {layouts[name]}")
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))

    @classmethod
    def empty(
        cls,
        spec: WeightFormatSpec,
        n: int,
        k: int,
        group_size: int,
        device: torch.device | str,
        optional_parts: Sequence[str] = (),
    ) -> PackedMatrix:
        """A matrix whose parts are not initialised; on the device "meta" it is a shape only."""
        layouts = part_layouts(spec, n, k, group_size)
        names = (*spec.parts, *optional_parts)
        parts = {name: torch.empty(layouts[name][1], dtype=layouts[name][0], device=device) for name in names}
        return cls(spec, (n, k), group_size, parts)

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.nbytes for part in self.parts.values())

    @property
    def device(self) -> torch.device:
        return next(iter(self.parts.values())).device

    def to(self, device: torch.device | str) -> PackedMatrix:
        """The same matrix on a device; itself where it is there already."""
        if self.device == torch.device(device):
            return self
        parts = {name: part.to(device) for name, part in self.parts.items()}
        return PackedMatrix(self.spec, self.shape, self.group_size, parts)

    def select_rows(self, index: Tensor) -> PackedMatrix:
        """The rows of an index [T], as an embedding needs them. Nothing leaves the device.

        Raises:
            ValueError: rows share a scale, or T is not as many outputs as the format admits.
        """
        if self.spec.group_rows != 1:
            raise ValueError(f"rows of {self.spec.name} cannot be selected: they share scales")
        parts = {
            name: part if name in _SHARED_PARTS else part.index_select(0, index) for name, part in self.parts.items()
        }
        return PackedMatrix(self.spec, (len(index), self.shape[1]), self.group_size, parts)

    def dequantize(self, dtype: torch.dtype) -> Tensor:
        """The weights as a new tensor [N, K]: computed in float32, rounded to nearest even."""
        out = torch.empty(self.shape, dtype=dtype, device=self.device)
        self.dequantize_into(out)
        return out

    def dequantize_into(self, out: Tensor) -> None:
        """Decode all weights into `out` [N, K], of any float dtype and device, with a small chunk of further memory."""
        n, k = self.shape
        step = max(_CHUNK // k, 1)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            out[rows] = decode_rows(self.spec, self.group_size, self.parts, rows, k)


def concat_refusal(matrices: Sequence[PackedMatrix]) -> str | None:
    """The first reason why the rows of matrices cannot stand in one matrix; None where they can."""
    first = matrices[0]
    for other in matrices[1:]:
        if other.spec != first.spec or other.group_size != first.group_size:
            return f"{first.spec.name} and {other.spec.name} (groups of {first.group_size} and {other.group_size})"
        if other.shape[1] != first.shape[1]:
            return f"rows of {first.shape[1]} and {other.shape[1]} inputs"
        if set(other.parts) != set(first.parts):
            return f"{sorted(first.parts)} and {sorted(other.parts)}"
        for name in _SHARED_PARTS & set(first.parts):
            if not torch.equal(first.parts[name], other.parts[name]):
                return f"each has its own {name}"
    if first.spec.group_rows > 1 and any(matrix.shape[0] % first.spec.group_rows for matrix in matrices[:-1]):
        return f"blocks of {first.spec.group_rows} rows would be split"
    return None


_SHARED_PARTS = frozenset({"order", "global_scale"})
"""Parts that say something of a whole matrix."""


def concat_rows(matrices: Sequence[PackedMatrix]) -> PackedMatrix:
    """One matrix of the rows of several, as fused products need it. FP8 scales of whole matrices become those of rows.

    Raises:
        ValueError: `concat_refusal` has a reason.
    """
    if refusal := concat_refusal(matrices):
        raise ValueError(f"rows cannot stand in one matrix: {refusal}")
    if matrices[0].spec.group_rows == 0 and len(matrices) > 1:
        matrices = [_per_row(matrix) for matrix in matrices]
    first = matrices[0]
    parts = {
        name: first.parts[name] if name in _SHARED_PARTS else torch.cat([matrix.parts[name] for matrix in matrices])
        for name in first.parts
    }
    rows = sum(matrix.shape[0] for matrix in matrices)
    return PackedMatrix(first.spec, (rows, first.shape[1]), first.group_size, parts)


def _per_row(matrix: PackedMatrix) -> PackedMatrix:
    """fp8_tensor as fp8_channel."""
    scales = matrix.parts["scales"].expand(matrix.shape[0], 1).contiguous()
    parts = {"codes": matrix.parts["codes"], "scales": scales}
    return PackedMatrix(weight_format("fp8_channel"), matrix.shape, 0, parts)
