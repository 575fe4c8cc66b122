"""The formulas of `runtime.kernels.traffic` against the memory that the kernels really touch."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pytest
import torch
from torch import Tensor
from touched_memory import TouchedMemory, touched_memory

from runtime.engine.sampling_params import SamplingParams
from runtime.formats.kv.codecs import get_codec
from runtime.formats.weights.declarations import WEIGHT_FORMATS, weight_format
from runtime.formats.weights.float4 import quantize_mxfp4, quantize_nvfp4
from runtime.formats.weights.float8 import quantize_float8
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels import traffic
from runtime.kernels.paged import KVPages, PagedRows
from runtime.kernels.rotation import Rotation
from runtime.kernels.traffic import Traffic
from runtime.kernels.triton import activation, gemv, kv_write, norm, sampling
from runtime.kernels.triton.dequantize import dequantize
from runtime.kernels.triton.embedding import embedding
from runtime.kernels.triton.paged_attention import paged_attention

HEADS, KV_HEADS, HEAD_DIM, BLOCK_SIZE = 4, 1, 64, 16


def halves(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).half()


def quantized(name: str, n: int, k: int) -> PackedMatrix:
    """A matrix in a format; the bytes of GGUF blocks may be any."""
    spec, values = weight_format(name), torch.randn(n, k, generator=torch.Generator().manual_seed(0))
    match spec.layout:
        case "integer":
            return quantize_integer(values, spec, 128, symmetric="zeros" not in spec.parts)
        case "float8":
            return quantize_float8(values, spec)
        case "nvfp4":
            return quantize_nvfp4(values)
        case "mxfp4":
            return quantize_mxfp4(values)
        case "gguf":
            matrix = PackedMatrix.empty(spec, n, k, spec.group_sizes[0], "cpu")
            matrix.parts["blocks"].fill_(1)
            return matrix


def assert_agrees(touched: TouchedMemory, formula: Traffic) -> None:
    assert (touched.read, touched.written, touched.launches) == (formula.read, formula.written, formula.launches)


@pytest.mark.parametrize("name", [spec.name for spec in WEIGHT_FORMATS])
def test_a_packed_product_moves_its_weight_once(name: str) -> None:
    outputs = max(8, weight_format(name).n_alignment)
    weight, x = quantized(name, outputs, 256), halves(2, 256)
    with touched_memory() as touched:
        gemv.product(x, weight)
    parts = weight.parts.values()
    # A scale of the whole matrix is read by everyone.
    shared = outputs // 4 * 4 if name in ("fp8_tensor", "fp8_block", "nvfp4") else 0
    assert weight.nbytes <= touched.read_by_programs(*parts) <= 1.02 * weight.nbytes + shared
    assert_agrees(touched, traffic.product(2, outputs, 256, weight.nbytes))


@pytest.mark.parametrize("residual", [torch.float16, torch.float32])
def test_a_dense_product_added_to_the_residual(residual: torch.dtype) -> None:
    x, weight, target = halves(1, 64), halves(6, 64), halves(1, 6).to(residual)
    with touched_memory() as touched:
        gemv.add_product(target, x, weight)
    assert_agrees(touched, traffic.product(1, 6, 64, weight.nbytes, added_to=residual.itemsize))


def test_a_product_with_a_bias() -> None:
    with touched_memory() as touched:
        gemv.product(halves(1, 64), halves(6, 64), halves(6))
    assert_agrees(touched, traffic.product(1, 6, 64, 2 * 6 * 64, bias=True))


def test_a_product_with_its_activation() -> None:
    with touched_memory() as touched:
        gemv.gated_product(halves(1, 64), halves(8, 64), None, "silu")
    assert_agrees(touched, traffic.product(1, 8, 64, 2 * 8 * 64, gated=True))


def test_decoding_for_the_library() -> None:
    """The decoding is what the formula has beyond the library's own product."""
    weight, out = quantized("int4", 8, 256), torch.empty(8, 256, dtype=torch.float16)
    with touched_memory() as touched:
        dequantize(weight, 0, out)
    packed, dense = (traffic.library_product(16, 8, 256, nbytes) for nbytes in (weight.nbytes, out.nbytes))
    assert touched.read == packed.read - dense.read
    assert touched.written == packed.written - dense.written
    assert touched.launches == packed.launches - dense.launches


@pytest.mark.parametrize("residual", [torch.float16, torch.float32])
def test_norms(residual: torch.dtype) -> None:
    x, weight = halves(3, 96).to(residual), torch.ones(96)
    with touched_memory() as touched:
        norm.rms_norm(x, weight, 1e-6, torch.float16)
    assert_agrees(touched, traffic.rms_norm(3, 96, residual.itemsize))
    for post_weight in (None, torch.ones(96)):
        with touched_memory() as touched:
            norm.add_rms_norm(x, halves(3, 96), weight, 1e-6, torch.float16, post_weight)
        assert_agrees(touched, traffic.add_rms_norm(3, 96, residual.itemsize, post_norm=post_weight is not None))


def test_activation_and_embedding() -> None:
    with touched_memory() as touched:
        activation.silu_and_mul(halves(3, 2 * 70))
    assert_agrees(touched, traffic.gated_activation(3, 70))
    with touched_memory() as touched:
        embedding(halves(9, 70), torch.tensor([4, 2]), torch.float32, 1.0)
    assert_agrees(touched, traffic.embedding(2, 70, 140, 4))


def test_drawing() -> None:
    filters = [SamplingParams(temperature=0.7, top_k=5)] * 2
    with touched_memory() as touched:
        sampling.draw_tokens(torch.randn(2, 300), filters, [0.3, 0.6])
    assert_agrees(touched, traffic.draw_tokens(2, 300))


class Memory:
    """Scratch of a size that is never too small."""

    def once(self, key: Hashable, build: Callable[[], Tensor]) -> Tensor:
        return build()

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        return torch.empty(shape, device=device)

    def counters(self, count: int, device: torch.device) -> Tensor:
        return torch.zeros(count, dtype=torch.int32, device=device)


def pages(codec: str, slots: int) -> KVPages:
    chosen = get_codec(codec)
    shape = KV_HEADS, slots, chosen.spec.row_elements(HEAD_DIM)
    keys, values = (torch.zeros(shape, dtype=getattr(torch, chosen.spec.storage_dtype)) for _ in range(2))
    return KVPages(keys, values, chosen, 1.0, 1.0)


@pytest.mark.parametrize("codec", ["fp16", "fp8_e4m3", "int8_g64"])
@pytest.mark.parametrize("norms", [False, True])
def test_writing_the_cache(codec: str, norms: bool) -> None:
    cache, tokens = pages(codec, 32), 3
    weight = torch.ones(HEAD_DIM) if norms else None
    rotation = Rotation(halves(tokens, 1, HEAD_DIM), halves(tokens, 1, HEAD_DIM), weight, weight, 1e-6)
    heads = halves(tokens, HEADS + 2 * KV_HEADS, HEAD_DIM)
    # The kernel needs no two norms of its own here, for both are one tensor.
    same_norm = 4 * HEAD_DIM if norms else 0
    with touched_memory() as touched:
        kv_write.rotate_and_write(cache, torch.tensor([17, 3, 8]), heads, rotation)
    row_bytes = cache.codec.spec.row_bytes(HEAD_DIM)
    formula = traffic.rotate_and_write(tokens, HEADS, KV_HEADS, HEAD_DIM, row_bytes, norms=norms)
    assert (touched.read + same_norm, touched.written) == (formula.read, formula.written)


@pytest.mark.parametrize(
    ("codec", "context", "window", "splits"),
    [("fp16", 45, None, 1), ("fp8_e4m3", 300, 20, 1), ("int8_g64", 45, None, 1), ("fp16", 272, None, 2)],
)
def test_decode_attention(codec: str, context: int, window: int | None, splits: int) -> None:
    """The formula has neither the numbers of the batch, nor what pads a row and a block."""
    blocks = -(-context // BLOCK_SIZE)
    cache = pages(codec, blocks * BLOCK_SIZE)
    rows = PagedRows([0], [1], [context], [tuple(range(blocks))], BLOCK_SIZE, torch.device("cpu"))
    query, out = halves(1, HEADS, HEAD_DIM), torch.empty(1, HEADS, HEAD_DIM, dtype=torch.float16)
    with touched_memory() as touched:
        paged_attention(query, cache, rows, scale=0.125, window=window, softcap=None, scratch=Memory(), out=out)
    row_bytes = cache.codec.spec.row_bytes(HEAD_DIM)
    formula = traffic.attention([1], [context], HEADS, KV_HEADS, HEAD_DIM, row_bytes, window=window, splits=splits)
    seen = 2 * KV_HEADS * row_bytes * min(context, window or context)
    assert touched.read_by_programs(cache.keys, cache.values, query) <= 1.05 * (seen + query.nbytes)
    assert 0.9 * formula.read <= touched.read <= 1.05 * formula.read
    assert formula.written <= touched.written <= 1.05 * formula.written
    assert touched.launches == formula.launches
