"""GGUF's quantised types: the blocks of a file are what kernels read, so there is nothing to prepare."""

from __future__ import annotations

import numpy as np
import torch

from runtime.formats.gguf import GGMLType, GGUFTensor
from runtime.formats.weights.declarations import WEIGHT_FORMATS, WeightFormatSpec
from runtime.formats.weights.matrix import PackedMatrix

_FORMATS = {spec.name: spec for spec in WEIGHT_FORMATS if spec.layout == "gguf"}


def block_format(kind: GGMLType) -> WeightFormatSpec | None:
    """The format that keeps blocks of a type; None for plain floats."""
    return _FORMATS.get(f"gguf_{kind.name.lower()}")


def matrix_of_blocks(tensor: GGUFTensor) -> PackedMatrix:
    """A copy of a tensor's blocks; the file may go.

    Args:
        tensor: [N, K], of a type that has a `block_format`.

    Raises:
        ValueError: it is no matrix, or holds plain floats.
    """
    spec = block_format(tensor.type)
    if spec is None or len(tensor.shape) != 2:
        raise ValueError(f"{tensor.name}: {tensor.type.name} {tensor.shape} is no matrix of quantised blocks")
    n, k = tensor.shape
    blocks = torch.from_numpy(np.array(tensor.data)).view(n, -1)
    return PackedMatrix(spec, (n, k), tensor.type.block_size, {"blocks": blocks})
