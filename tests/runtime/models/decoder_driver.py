"""The least that runs a decoder: paged attention over as many requests as there are sequences, and no scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig
from runtime.engine.model import Probe
from runtime.models.decoder import Decoder
from runtime.platforms import current

BLOCK_SIZE = 16


class DecoderDriver:
    """Feeds tokens to a decoder, a step at a time. Blocks of the requests lie interleaved in the cache."""

    def __init__(self, model: Decoder, requests: int = 1, context: int = 256) -> None:
        blocks = -(-context // BLOCK_SIZE)
        cache = PagedKVCache(model.layers, requests * blocks, BLOCK_SIZE, dtype=model.dtype)
        self.model = model
        self.attention = Attention(model.layers, cache, current("cpu"), AttentionConfig())
        self.tables = [list(range(request, requests * blocks, requests)) for request in range(requests)]
        self.lengths = [0] * requests

    def step(self, tokens: dict[int, Sequence[int]], probe: Probe | None = None) -> dict[int, Tensor]:
        """Logits [rows, vocab] of every row, by request."""
        requests = list(tokens)
        rows = [len(tokens[request]) for request in requests]
        starts = [self.lengths[request] for request in requests]
        batch = AttentionBatch.build([self.tables[request] for request in requests], starts, rows, BLOCK_SIZE)
        self.attention.begin(batch)
        flat = torch.tensor([token for request in requests for token in tokens[request]])
        hidden = self.model.forward(flat, batch.positions, self.attention, probe)
        for request, count in zip(requests, rows, strict=True):
            self.lengths[request] += count
        return dict(zip(requests, self.model.logits(hidden).split(rows), strict=True))


def greedy(driver: DecoderDriver, prompts: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """The `length` likeliest tokens after every prompt, one after another; all prompts run as one batch."""
    logits = driver.step(dict(enumerate(prompts)))
    outputs: list[list[int]] = [[] for _ in prompts]
    for _ in range(length):
        for request, rows in logits.items():
            outputs[request].append(int(rows[-1].argmax()))
        logits = driver.step({request: output[-1:] for request, output in enumerate(outputs)})
    return outputs
