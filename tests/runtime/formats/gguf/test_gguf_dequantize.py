"""Weights are those of the `gguf` package, to the last bit, whatever the bytes are."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch

from runtime.formats.gguf import GGMLType, GGUFFile, GGUFTensor, dequantize_into


def stored(kind: GGMLType, shape: tuple[int, ...], seed: int) -> GGUFTensor:
    count = int(np.prod(shape)) // kind.block_size * kind.block_bytes
    raw = np.random.default_rng(seed).integers(0, 256, count).astype(np.uint8)
    return GGUFTensor(f"{kind.name} {seed}", shape, kind, raw)


def expected(tensor: GGUFTensor) -> np.ndarray:
    with np.errstate(all="ignore"):
        rows = tensor.data.reshape(*tensor.shape[:-1], -1)
        return gguf.dequantize(rows, gguf.GGMLQuantizationType[tensor.type.name])


def bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint32)


def decoded(tensor: GGUFTensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    out = torch.full(tensor.shape, 77, dtype=dtype)
    dequantize_into(tensor, out)
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", GGMLType)
def test_random_bytes_decode_to_the_last_bit(kind: GGMLType, seed: int) -> None:
    """Random bytes make scales of every kind: subnormal, infinite, NaN of either sign."""
    tensor = stored(kind, (3, 5, 2048), seed)
    found = decoded(tensor).numpy()
    assert not np.isfinite(found).all()
    np.testing.assert_array_equal(bits(found), bits(expected(tensor)))


@pytest.mark.parametrize("kind", GGMLType)
def test_all_zero_and_all_one_bytes(kind: GGMLType) -> None:
    for byte in (0, 255):
        tensor = GGUFTensor("edge", (kind.block_size,), kind, np.full(kind.block_bytes, byte, np.uint8))
        np.testing.assert_array_equal(bits(decoded(tensor).numpy()), bits(expected(tensor)))


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 1025])
def test_nothing_is_lost_where_pieces_meet(rows: int) -> None:
    tensor = stored(GGMLType.Q6_K, (rows, 256), rows)
    np.testing.assert_array_equal(bits(decoded(tensor).numpy()), bits(expected(tensor)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [GGMLType.F32, GGMLType.Q4_K])
def test_narrow_types_are_the_float32_result_rounded(kind: GGMLType, dtype: torch.dtype) -> None:
    tensor = stored(kind, (700, 256), 1)
    rounded = torch.from_numpy(expected(tensor)).to(dtype)
    assert torch.equal(decoded(tensor, dtype).nan_to_num(9.0), rounded.nan_to_num(9.0))


def test_a_slice_of_a_larger_tensor_is_filled_in_place() -> None:
    tensor = stored(GGMLType.Q8_0, (4, 32), 1)
    whole = torch.zeros(12, 32)
    dequantize_into(tensor, whole[4:8])
    np.testing.assert_array_equal(bits(whole[4:8].numpy()), bits(expected(tensor)))
    assert not whole[:4].any()
    assert not whole[8:].any()


@pytest.mark.parametrize("out", [torch.empty(32, 4), torch.empty(32, 4).T, torch.empty(4, 31)])
def test_a_place_of_another_shape_is_refused(out: torch.Tensor) -> None:
    tensor = stored(GGMLType.Q8_0, (4, 32), 1)
    if out.shape == (4, 32):
        assert not out.is_contiguous()
    with pytest.raises(ValueError, match="contiguous"):
        dequantize_into(tensor, out)


@pytest.mark.real_model
@pytest.mark.parametrize("model", ["smollm2", "gemma3"])
def test_real_tensors_decode_to_the_last_bit(model: str, request: pytest.FixtureRequest) -> None:
    """Of each shape and type of tensor, the first, and of that at most 8192 rows."""
    seen = set()
    with GGUFFile.open(request.getfixturevalue(model)) as file:
        for tensor in file.tensors.values():
            if (tensor.shape, tensor.type) in seen:
                continue
            seen.add((tensor.shape, tensor.type))
            rows = min(tensor.shape[0], 8192)
            data = tensor.data[: tensor.nbytes // tensor.shape[0] * rows]
            part = GGUFTensor(tensor.name, (rows, *tensor.shape[1:]), tensor.type, data)
            np.testing.assert_array_equal(bits(decoded(part).numpy()), bits(expected(part)))
    assert len(seen) >= 5
