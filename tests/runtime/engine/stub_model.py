"""A model and a tokenizer small enough to work out by hand, over the real attention and the real cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape
from runtime.config import AttentionConfig, CacheConfig, GraphConfig, ModelConfig, RuntimeConfig, SchedulerConfig
from runtime.engine.engine import Engine
from runtime.engine.graphs import GraphBackend
from runtime.engine.model import Probe
from runtime.platforms.cpu import CpuPlatform
from runtime.platforms.declarations import PLATFORM_SPECS

VOCABULARY = "abcdefghijklmnopqrstuvwxyz ."
EOS = len(VOCABULARY)
WIDTH = 8


class StubModel:
    """One layer that averages the context's embeddings, each turned by its position: order and content both count."""

    layers = (LayerShape(num_heads=1, num_kv_heads=1, head_dim=WIDTH, scale=1.0),)
    vocab_size = len(VOCABULARY) + 1
    dtype = torch.float32
    device = torch.device("cpu")

    def __init__(self, max_positions: int = 256) -> None:
        self.max_positions = max_positions
        noise = torch.Generator().manual_seed(0)
        self.embedding = torch.randn(self.vocab_size, WIDTH, generator=noise)
        self.turn = torch.randn(max_positions, WIDTH, generator=noise)
        self.head = torch.randn(WIDTH, self.vocab_size, generator=noise)
        self.steps = 0

    def values(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.embedding[tokens] * self.turn[positions]

    def forward(self, tokens: Tensor, positions: Tensor, attention: Attention, probe: Probe | None = None) -> Tensor:
        self.steps += 1
        values = self.values(tokens, positions)
        if probe is not None:
            probe("embedding", values)
        still = torch.zeros_like(values).unsqueeze(1)
        hidden = attention.forward(0, still, still, values.unsqueeze(1)).squeeze(1)
        if probe is not None:
            probe("layers.0.attention", hidden)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.head

    def logits_alone(self, context: Sequence[int]) -> Tensor:
        """What the model says after `context`, without cache, batch or engine."""
        return self.values(torch.tensor(context), torch.arange(len(context))).mean(0) @ self.head

    def greedy_alone(self, prompt: Sequence[int], count: int) -> list[int]:
        context = list(prompt)
        for _ in range(count):
            context.append(int(self.logits_alone(context).argmax()))
        return context[len(prompt) :]


class _Letters:
    def step(self, token_id: int) -> str:
        return VOCABULARY[token_id] if token_id < EOS else ""

    def flush(self) -> str:
        return ""


class LetterTokenizer:
    """A token a letter."""

    vocab_size = StubModel.vocab_size
    eos_ids = frozenset({EOS})
    bos_id = None

    def encode(self, text: str, add_special: bool = True) -> list[int]:
        return [VOCABULARY.index(letter) for letter in text]

    def decode(self, ids: Sequence[int], skip_special: bool = True) -> str:
        return "".join(VOCABULARY[token] for token in ids if token < EOS)

    def stream(self, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> _Letters:
        return _Letters()

    def token_bytes(self, token_id: int) -> bytes:
        return self.decode([token_id]).encode()


def cpu() -> CpuPlatform:
    return CpuPlatform(next(spec for spec in PLATFORM_SPECS if spec.name == "cpu"))


def engine_of(
    model: StubModel,
    tokenizer: LetterTokenizer | None = None,
    *,
    num_blocks: int = 64,
    block_size: int = 4,
    max_model_len: int | None = None,
    prefix_caching: bool = True,
    prefill_chunk: int = 0,
    graphs: tuple[int, ...] = (),
    graph_backend: GraphBackend | None = None,
    **scheduler: Any,
) -> Engine:
    config = RuntimeConfig(
        model=ModelConfig(max_model_len=max_model_len),
        cache=CacheConfig(num_blocks=num_blocks, block_size=block_size, prefix_caching=prefix_caching),
        attention=AttentionConfig(prefill_chunk=prefill_chunk),
        scheduler=SchedulerConfig(**scheduler),
        graphs=GraphConfig(enabled=bool(graphs), batch_sizes=graphs),
    )
    return Engine(model, tokenizer, config, cpu(), graph_backend)
