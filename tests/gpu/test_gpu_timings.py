"""How long things take. Nothing here is asserted: the figures are printed, and written where `--measured` says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from measuring import Measure

from runtime.attention.workspace import Workspace
from runtime.config import KernelsConfig
from runtime.engine.sampling_params import SamplingParams
from runtime.formats.kv.codecs import get_codec
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.paged import KVPages, PagedRows
from runtime.linear.linear import Linear
from runtime.llm import LLM
from runtime.platforms import current

# The shapes of a model of 8 billion weights: its last product of a layer, and its attention.
N, K = 4096, 14336
HEADS, KV_HEADS, HEAD_DIM, BLOCK = 32, 8, 128, 16
FORMATS = {
    "awq_int4": 128,
    "gptq_int3": 128,
    "int8": 0,
    "fp8_channel": 0,
    "fp8_block": 128,
    "nvfp4": 16,
    "mxfp4": 32,
    "gguf_q4_0": 32,
    "gguf_q4_k": 256,
    "gguf_q6_k": 256,
    "gguf_q8_0": 32,
}


def matrix(name: str, card: torch.device) -> PackedMatrix:
    """Any codes, with scales that keep weights finite where the format has them apart."""
    weight = PackedMatrix.empty(weight_format(name), N, K, FORMATS[name], card)
    for part in weight.parts.values():
        if part.dtype is torch.uint8:
            part.random_(0, 100)
        else:
            part.fill_(0.01)
    return weight


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("name", FORMATS)
def test_products_of_few_rows(name: str, rows: int, card: torch.device, measure: Measure) -> None:
    from runtime.kernels.triton.gemv import Gemv

    weight, x = matrix(name, card), torch.randn(rows, K, device=card).half()
    product = Gemv(weight)
    measure(f"product, {name}, {rows} rows", lambda: product(x), "GB/s", weight.nbytes / 1e9)


def test_products_of_many_rows(card: torch.device, measure: Measure) -> None:
    linear, x = Linear(current().name, torch.float16, KernelsConfig()), torch.randn(512, K, device=card).half()
    dense, packed = map(linear.bind, (torch.randn(N, K, device=card).half(), matrix("awq_int4", card)))
    amount = 2 * len(x) * N * K / 1e12
    measure("product, float16, 512 rows", lambda: dense(x), "TFLOP/s", amount)
    measure("product, awq_int4, 512 rows", lambda: packed(x), "TFLOP/s", amount)


def attention(
    kernel: Callable[..., None], codec_name: str, requests: int, rows: int, context: int, card: torch.device
) -> tuple[Callable[[], None], int]:
    """A call, and the bytes of the keys and values that it attends to."""
    codec, blocks = get_codec(codec_name), requests * context // BLOCK
    kept = [codec.encode(torch.randn(KV_HEADS, blocks * BLOCK, HEAD_DIM, device=card).half(), 1.0) for _ in range(2)]
    tables = torch.randperm(blocks, generator=torch.Generator().manual_seed(0)).view(requests, -1).tolist()
    starts = list(range(0, requests * rows, rows))
    step = PagedRows(starts, [rows] * requests, [context] * requests, tables, BLOCK, card)
    query = torch.randn(requests * rows, HEADS, HEAD_DIM, device=card).half()
    out, scratch, pages = torch.empty_like(query), Workspace(), KVPages(kept[0], kept[1], codec, 1.0, 1.0)

    def call() -> None:
        kernel(query, pages, step, scale=HEAD_DIM**-0.5, window=None, softcap=None, scratch=scratch, out=out)

    return call, sum(each.nbytes for each in kept)


@pytest.mark.parametrize("requests", [1, 8])
@pytest.mark.parametrize("codec", ["fp16", "fp8_e4m3", "int8_g64"])
def test_decode_attention(codec: str, requests: int, card: torch.device, measure: Measure) -> None:
    from runtime.kernels.cuda.grouped_decode import grouped_decode
    from runtime.kernels.triton.paged_attention import paged_attention

    for name, kernel in (("tensor cores", grouped_decode), ("Triton", paged_attention)):
        call, nbytes = attention(kernel, codec, requests, 1, 8192, card)
        measure(f"decode, {name}, {codec}, {requests} x 8192", call, "GB/s", nbytes / 1e9)


@pytest.mark.parametrize("codec", ["fp16", "int8_g64"])
def test_prefill_attention(codec: str, card: torch.device, measure: Measure) -> None:
    from runtime.kernels.cuda.flash_prefill import flash_prefill

    tokens = 4096
    call, _ = attention(flash_prefill, codec, 1, tokens, tokens, card)
    amount = 2 * HEADS * HEAD_DIM * tokens * tokens / 1e12
    measure(f"prefill, {codec}, {tokens} tokens", call, "TFLOP/s", amount)


def test_sampling(card: torch.device, measure: Measure) -> None:
    from runtime.kernels.triton.sampling import draw_tokens

    logits = torch.randn(16, 128_256, device=card)
    filters = [SamplingParams(temperature=0.8, top_k=50, top_p=0.95)] * len(logits)
    measure("sampling, 16 x 128256, top-k and top-p", lambda: draw_tokens(logits.clone(), filters, [0.5] * len(logits)))


@pytest.mark.parametrize("requests", [1, 16])
def test_a_small_model(requests: int, smollm2: Path, card: torch.device, measure: Measure) -> None:
    llm = LLM(smollm2, settings={"model.max_model_len": 512, "scheduler.max_num_seqs": 16}, environ={})
    greedy, prompts = SamplingParams(temperature=0, min_tokens=32, max_tokens=32), [[1, 2, 3, 4]] * requests
    measure(f"SmolLM2-135M, {requests} requests", lambda: llm.generate(prompts, greedy), "tokens/s", 32.0 * requests)
