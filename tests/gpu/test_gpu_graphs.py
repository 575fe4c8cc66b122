"""Launches in CUDA graphs: a replay computes from what the captured memory holds now."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from paged_case import PagedCase, paged_case
from torch import Tensor
from weight_cases import WeightCase

from runtime.attention.workspace import Workspace
from runtime.config import KernelsConfig
from runtime.engine.cuda_graphs import CudaGraphs
from runtime.linear.linear import Linear
from runtime.platforms import current

Launch = Callable[[], Tensor]


def assert_replay_is_the_launch(launch: Launch, change: Callable[[], object]) -> None:
    """Captured before its inputs are changed in place, and launched anew after it."""
    launch()
    graph = CudaGraphs().capture(launch)
    change()
    graph.replay()
    replayed = graph.output.clone()
    assert torch.equal(replayed, launch())


@pytest.mark.parametrize("rows", [1, 8, 9])
@pytest.mark.parametrize("name", ["awq_int4", "gptq_int4", "fp8_channel", "gguf_q4_k"])
def test_products(name: str, rows: int, card: torch.device) -> None:
    case = WeightCase(name, 64, 512, 128 if name.endswith("int4") else 0, symmetric=not name.startswith("awq"))
    product = Linear(current().name, torch.float16, KernelsConfig()).bind(case.weight().to(card))
    x = torch.randn(rows, case.k, device=card).half()
    assert_replay_is_the_launch(lambda: product(x), lambda: x.mul_(-3))


@pytest.mark.parametrize("name", ["gguf_q4_1", "gguf_q8_0", "gguf_q6_k"])
def test_embeddings_of_packed_tables(name: str, card: torch.device) -> None:
    """Decoding must not go through the host."""
    from runtime.kernels.triton.embedding import embedding

    table, tokens = WeightCase(name, 9, 512).weight().to(card), torch.tensor([3, 8], device=card)
    assert_replay_is_the_launch(lambda: embedding(table, tokens, torch.float16, 1.0), lambda: tokens.sub_(2))


def attend(kernel: Callable[..., None], case: PagedCase) -> Launch:
    out, scratch = torch.zeros_like(case.query), Workspace()

    def launch() -> Tensor:
        scratch.reset()
        kernel(case.query, case.pages, case.rows, scale=0.125, window=None, softcap=None, scratch=scratch, out=out)
        return out

    return launch


def other_step(case: PagedCase) -> Callable[[], None]:
    """Other queries, after contexts that are shorter by a token."""

    def change() -> None:
        case.query.mul_(-2)
        case.rows.metadata.context_lens.sub_(1)

    return change


@pytest.mark.parametrize("contexts", [[20, 150], [2000, 3]], ids=str)
@pytest.mark.parametrize("codec", ["fp16", "int8_g64"])
def test_decode_attention(codec: str, contexts: list[int], card: torch.device) -> None:
    """Whether contexts are split or not."""
    from runtime.kernels.cuda.grouped_decode import grouped_decode
    from runtime.kernels.triton.paged_attention import paged_attention

    for kernel in (grouped_decode, paged_attention):
        case = paged_case(codec, 64, 4, [1, 1], contexts, device=card)
        assert_replay_is_the_launch(attend(kernel, case), other_step(case))
