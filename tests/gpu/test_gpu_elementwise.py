"""Norms, activations, embeddings and cache writes on the device, against the reference on a CPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from weight_cases import WEIGHT_CASES, WeightCase

from runtime.formats.kv.codecs import get_codec
from runtime.formats.weights.declarations import weight_format
from runtime.kernels.paged import KVPages
from runtime.kernels.reference import activation as reference_activation
from runtime.kernels.reference import kv_write as reference_kv
from runtime.kernels.reference import norm as reference_norm
from runtime.kernels.reference.embedding import embedding as reference_embedding
from runtime.kernels.reference.rotary import rotary_table
from runtime.kernels.rotation import Rotation

pytestmark = pytest.mark.usefixtures("poison")
CODECS = ["fp32", "fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"]
GGUF_CASES = [case for case in WEIGHT_CASES if weight_format(case.format).layout == "gguf"]
HALF = {"rtol": 2.0**-10, "atol": 2.0**-14}


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("width", [1, 64, 577, 5120])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_norm(width: int, dtype: torch.dtype, device: torch.device) -> None:
    from runtime.kernels.triton.norm import rms_norm

    x, weight = random(3, width).to(dtype), random(width, seed=1)
    result = rms_norm(x.to(device), weight.to(device), 1e-5, torch.float16)
    expected = reference_norm.rms_norm(x.double().float(), weight, 1e-5, torch.float16)
    torch.testing.assert_close(result.cpu(), expected, **HALF)


@pytest.mark.parametrize("has_post_norm", [False, True])
@pytest.mark.parametrize("width", [64, 577, 5120])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_sum_and_norm(width: int, dtype: torch.dtype, has_post_norm: bool, device: torch.device) -> None:
    from runtime.kernels.triton.norm import add_rms_norm

    residual, branch, weight = random(3, width).to(dtype), random(3, width, seed=1).half(), random(width, seed=2)
    post = random(width, seed=3) if has_post_norm else None
    changed, wide = residual.to(device, copy=True), residual.to(torch.float32, copy=True)
    result = add_rms_norm(
        changed,
        branch.to(device),
        weight.to(device),
        1e-5,
        torch.float16,
        None if post is None else post.to(device),
    )
    expected = reference_norm.add_rms_norm(wide, branch.float(), weight, 1e-5, torch.float16, post)
    torch.testing.assert_close(changed.cpu(), wide.to(dtype), **HALF)
    torch.testing.assert_close(result.cpu(), expected, rtol=2.0**-9, atol=2.0**-11)


@pytest.mark.parametrize("width", [1, 577, 4096])
def test_activations(width: int, device: torch.device) -> None:
    from runtime.kernels.triton.activation import gelu_tanh_and_mul, silu_and_mul

    x = (4 * random(3, 2 * width)).half()
    for ours, theirs in (
        (silu_and_mul, reference_activation.silu_and_mul),
        (gelu_tanh_and_mul, reference_activation.gelu_tanh_and_mul),
    ):
        torch.testing.assert_close(ours(x.to(device)).cpu(), theirs(x.double()).half(), **HALF)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_embedding_of_a_dense_table(dtype: torch.dtype, device: torch.device) -> None:
    from runtime.kernels.triton.embedding import embedding

    table, tokens = random(7, 1100).half(), torch.tensor([6, 0, 6])
    result = embedding(table.to(device), tokens.to(device), dtype, 25.5)
    torch.testing.assert_close(result.cpu(), reference_embedding(table.float(), tokens, dtype, 25.5), **HALF)


@pytest.mark.parametrize(
    "case", [each for each in WEIGHT_CASES if weight_format(each.format).layout == "gguf"], ids=str
)
def test_embedding_of_a_packed_table(case: WeightCase, device: torch.device) -> None:
    from runtime.kernels.triton.embedding import embedding

    table, tokens = case.weight(), torch.tensor([2, 0])
    result = embedding(table.to(device), tokens.to(device), torch.float16, 1.0)
    assert torch.equal(result.cpu(), reference_embedding(table, tokens, torch.float16, 1.0))


def pages_of(codec_name: str, head_dim: int, device: torch.device | str) -> KVPages:
    """Two key heads with five slots; every byte is poison."""
    codec = get_codec(codec_name)
    scales = (0.5, 0.25) if codec.spec.scaling == "cache" else (1.0, 1.0)
    size = 2, 5, codec.spec.row_elements(head_dim)
    poison = 0x7F if codec.storage_dtype is torch.uint8 else float("nan")
    keys, values = (torch.full(size, poison, dtype=codec.storage_dtype, device=device) for _ in range(2))
    return KVPages(keys, values, codec, *scales)


def assert_same_pages(ours: KVPages, theirs: KVPages, head_dim: int) -> None:
    """To the bit, but for the padding of rows that bring their scales."""
    for mine, other, scale in ((ours.keys, theirs.keys, ours.k_scale), (ours.values, theirs.values, ours.v_scale)):
        mine = mine.cpu()
        if ours.codec.storage_dtype is torch.uint8:
            assert torch.equal(mine[..., :head_dim], other[..., :head_dim])
        decoded = [ours.codec.decode(stored, scale, torch.float32) for stored in (mine, other)]
        torch.testing.assert_close(*decoded, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("codec", CODECS)
def test_keys_and_values_are_stored_as_the_codec_says(codec: str, head_dim: int, device: torch.device) -> None:
    from runtime.kernels.triton.kv_write import write_pages

    keys, values, slots = random(2, 2, head_dim).half(), random(2, 2, head_dim, seed=1).half(), torch.tensor([4, 1])
    ours, theirs = pages_of(codec, head_dim, device), pages_of(codec, head_dim, "cpu")
    write_pages(ours, slots.to(device), keys.to(device), values.to(device))
    reference_kv.write_pages(theirs, slots, keys, values)
    assert_same_pages(ours, theirs, head_dim)


@pytest.mark.parametrize("has_norms", [False, True])
@pytest.mark.parametrize("head_dim", [64, 96, 128, 256])
def test_heads_are_rotated_and_stored(head_dim: int, has_norms: bool, device: torch.device) -> None:
    """In a cache of halves, so that what was stored can be compared within a rounding."""
    from runtime.kernels.triton.kv_write import rotate_and_write

    cos, sin = rotary_table(random(2, head_dim // 2, seed=2), torch.float16)
    norms = [random(head_dim, seed=seed) if has_norms else None for seed in (3, 4)]
    heads, slots = random(2, 10, head_dim).half(), torch.tensor([4, 1])
    ours, theirs = pages_of("fp16", head_dim, device), pages_of("fp32", head_dim, "cpu")
    on_device = [None if norm is None else norm.to(device) for norm in norms]
    rotation = Rotation(cos.to(device), sin.to(device), *on_device, 1e-5)
    turned = rotate_and_write(ours, slots.to(device), heads.to(device), rotation)
    wide = Rotation(cos.float(), sin.float(), *norms, 1e-5)
    expected = reference_kv.rotate_and_write(theirs, slots, heads.float(), wide)
    for mine, other in ((turned, expected), (ours.keys, theirs.keys), (ours.values, theirs.values)):
        torch.testing.assert_close(mine.cpu().float(), other, rtol=2.0**-10, atol=2.0**-9, equal_nan=True)
