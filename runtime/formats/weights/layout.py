"""What all checkpoint layouts of quantised matrices have in common, and the checks that come first.

A layout says which tensors of a checkpoint make up one matrix, prepares them into a `PackedMatrix`, and stores one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol

import torch
from torch import Tensor

from runtime.errors import CheckpointError
from runtime.formats.weights.declarations import WeightFormatSpec, admission
from runtime.formats.weights.matrix import PackedMatrix

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
INTEGERS = (torch.int32, torch.int64)

_CONVERT_AGAIN = "Download the checkpoint again, or quantise the model again"


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor of a matrix in a checkpoint: the shapes and dtypes that it may have, and whether it may be absent."""

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[torch.dtype, ...]
    optional: bool = False


class CheckpointLayout(Protocol):
    """How a checkpoint stores a quantised matrix. Names of tensors are what follows the module's, such as `.weight`."""

    @property
    def spec(self) -> WeightFormatSpec:
        """The format that it is prepared into."""

    @property
    def group_size(self) -> int:
        """Neighbouring columns that share a scale; 0 is the whole row."""

    def stored(self, n: int, k: int) -> Mapping[str, StoredTensor]:
        """The tensors of a matrix [n, k] by name."""

    def prepare(self, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
        """The matrix [n, k] of a checkpoint's tensors, which need not live on.

        Args:
            tensors: by name; see `stored`.
            place: file and module, for errors.

        Raises:
            CheckpointError: the format does not admit the shape, or a tensor is missing, is of another kind or shape,
                or holds what no matrix can mean.
        """

    def side_parts(self, tensors: Mapping[str, Tensor], n: int, place: str) -> dict[str, Tensor]:
        """The small parts by which matrices differ though their config and shapes are the same.

        Those are the parts that only some have, and those that say something of the whole. Arguments and errors are
        those of `prepare`, but codes and scales are not looked at.
        """

    def store(self, matrix: PackedMatrix) -> dict[str, Tensor]:
        """The inverse of `prepare`.

        Raises:
            ValueError: the matrix is of another format, or the layout cannot say what it says.
        """


def outline(layout: CheckpointLayout, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> PackedMatrix:
    """What `prepare` gives, with shapes on the device "meta" in place of codes and scales. Errors are the same."""
    check_admission(layout, n, k, place)
    shapes = PackedMatrix.empty(layout.spec, n, k, layout.group_size, "meta").parts
    return PackedMatrix(layout.spec, (n, k), layout.group_size, {**shapes, **layout.side_parts(tensors, n, place)})


def check_admission(layout: CheckpointLayout, n: int, k: int, place: str) -> None:
    """Raise CheckpointError where the format of a layout cannot hold a matrix [n, k]."""
    if refusal := admission(layout.spec, n, k, layout.group_size):
        raise CheckpointError(f"{place}: {refusal}. Use a checkpoint of another format or group size.")


def check_stored(layout: CheckpointLayout, tensors: Mapping[str, Tensor], n: int, k: int, place: str) -> None:
    """What every `prepare` does first."""
    check_admission(layout, n, k, place)
    for name, expected in layout.stored(n, k).items():
        tensor = tensors.get(name)
        if tensor is None:
            if not expected.optional:
                refuse(place, name, f"is missing, which the format {layout.spec.name} needs")
        elif tensor.dtype not in expected.dtypes:
            refuse(place, name, f"holds {_name(tensor.dtype)}, not {' or '.join(map(_name, expected.dtypes))}")
        elif tuple(tensor.shape) not in expected.shapes:
            shapes = " or ".join(str(list(shape)) for shape in expected.shapes)
            refuse(place, name, f"has the shape {list(tensor.shape)}, and a matrix of {n} x {k} needs {shapes}")


def finite_scales(tensor: Tensor, dtype: torch.dtype, place: str, name: str) -> Tensor:
    """Scales in the dtype that kernels read, rounded to nearest.

    Raises:
        CheckpointError: one is NaN or infinite, or too large for the dtype.
    """
    scales = tensor.to(dtype)
    if not scales.isfinite().all():
        refuse(place, name, f"holds a scale that is no finite {_name(dtype)}")
    return scales.contiguous()


def check_format(layout: CheckpointLayout, matrix: PackedMatrix) -> None:
    """What every `store` does first."""
    if matrix.spec != layout.spec or matrix.group_size != layout.group_size:
        raise ValueError(
            f"a layout of {layout.spec.name} in groups of {layout.group_size} cannot store {matrix.spec.name} in "
            f"groups of {matrix.group_size}"
        )


def refuse(place: str, name: str, problem: str) -> NoReturn:
    """Raise the error about one tensor of a matrix."""
    raise CheckpointError(f"{place}{name}: {problem}. {_CONVERT_AGAIN}.")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
