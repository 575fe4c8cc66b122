"""A model that costs nothing, so that what is left of a step is the engine's own work."""

from __future__ import annotations

import time
from statistics import median

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape
from runtime.config import resolve
from runtime.engine.engine import Engine
from runtime.engine.model import Probe
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.tokenizer import Tokenizer
from runtime.platforms import current

_VOCABULARY = 512
"""Small, since to find the highest logit is the device's work, not the host's."""


class StubModel:
    """Returns prepared logits. Has one attention layer, which is never called."""

    layers = (LayerShape(num_heads=1, num_kv_heads=1, head_dim=8, scale=1.0),)
    vocab_size = _VOCABULARY
    max_positions = 4096
    dtype = torch.float32
    device = torch.device("cpu")

    def __init__(self, rows: int) -> None:
        self._hidden = torch.zeros(4096, 1)
        self._logits = torch.randn(rows, _VOCABULARY, generator=torch.Generator().manual_seed(0))

    def forward(self, tokens: Tensor, positions: Tensor, attention: Attention, probe: Probe | None = None) -> Tensor:
        return self._hidden[: len(tokens)]

    def logits(self, hidden: Tensor) -> Tensor:
        return self._logits[: len(hidden)]


def step_seconds(running: int, tokenizer: Tokenizer, steps: int = 200) -> float:
    """Median time of one engine step while `running` requests decode: scheduling, batch, sampling and text."""
    platform = current("cpu")
    settings = {"scheduler.max_num_seqs": running, "cache.num_blocks": running * 40, "max_num_batched_tokens": 4096}
    config = resolve(settings, {}, platform=platform.defaults(), safety=platform.overrides()).config
    engine = Engine(StubModel(running), tokenizer, config, platform)
    params = SamplingParams(temperature=0, max_tokens=512, ignore_eos=True)
    for request in range(running):
        engine.add_request([1 + request % 500] * 17, params)
    while engine.stats().generated_tokens < running:
        engine.step()
    times = []
    for _ in range(steps):
        started = time.perf_counter()
        engine.step()
        times.append(time.perf_counter() - started)
    return median(times)
