"""Weight formats by their definitions, one bit and one weight at a time in float64, and random matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from runtime.formats.weights.declarations import WeightFormatSpec
from runtime.formats.weights.matrix import PackedMatrix, part_layouts

Floats = npt.NDArray[np.float64]


def bit_string(values: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int64]:
    """[R, B] bytes or words -> [R, codes]: every row is one little-endian string of codes."""
    width = 8 * values.dtype.itemsize
    rows = []
    for row in values:
        string = sum((int(value) % (1 << width)) << index * width for index, value in enumerate(row))
        rows.append([string >> start & (1 << bits) - 1 for start in range(0, len(row) * width - bits + 1, bits)])
    return np.array(rows, np.int64)


def e4m3(code: int) -> float:
    sign, exponent, mantissa = code >> 7, code >> 3 & 15, code & 7
    if exponent == 15 and mantissa == 7:
        return float("nan")
    magnitude = mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    return -magnitude if sign else magnitude


def e2m1(code: int) -> float:
    sign, exponent, mantissa = code >> 3, code >> 1 & 3, code & 1
    magnitude = mantissa / 2 if exponent == 0 else (1 + mantissa / 2) * 2.0 ** (exponent - 1)
    return -magnitude if sign else magnitude


def e8m0(code: int) -> float:
    return float("nan") if code == 255 else 2.0 ** (code - 127)


def decode(matrix: PackedMatrix) -> Floats:
    """[N, K] of any format but those of GGUF."""
    parts = {name: part.numpy() for name, part in matrix.parts.items()}
    (n, k), spec = matrix.shape, matrix.spec
    codes = bit_string(parts["codes"], spec.bits)
    group = matrix.group_size or k
    weights = np.empty((n, k))
    for row in range(n):
        for column in range(k):
            code, place = int(codes[row, column]), (row, column // group)
            match spec.layout:
                case "integer":
                    zero = int(parts["zeros"][place]) if "zeros" in parts else 1 << spec.bits - 1
                    weight = (code - zero) * float(parts["scales"][place])
                case "float8":
                    weight = e4m3(code) * float(parts["scales"][row // (spec.group_rows or n), column // group])
                case "nvfp4":
                    weight = e2m1(code) * e4m3(int(parts["block_scales"][place])) * float(parts["global_scale"][0])
                case _:
                    weight = e2m1(code) * e8m0(int(parts["block_scales"][place]))
            weights[row, int(parts["order"][column]) if "order" in parts else column] = weight
    return weights


def random_matrix(spec: WeightFormatSpec, n: int, k: int, group_size: int, seed: int, *optional: str) -> PackedMatrix:
    """Every byte is random; so is every scale, positive and finite where it is a wide float."""
    numbers = torch.Generator().manual_seed(seed)

    def part(name: str, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
        if name == "order":
            return torch.randperm(k, generator=numbers).to(dtype)
        if name == "zeros":
            return torch.randint(0, (1 << spec.bits) + (spec.bits < 8), shape, generator=numbers).to(dtype)
        if dtype == torch.uint8:
            return torch.randint(0, 256, shape, generator=numbers).to(dtype)
        return (torch.rand(shape, generator=numbers) + 0.01).to(dtype)

    layouts = part_layouts(spec, n, k, group_size)
    return PackedMatrix(
        spec, (n, k), group_size, {name: part(name, *layouts[name]) for name in (*spec.parts, *optional)}
    )
