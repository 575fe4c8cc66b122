"""What the host does for one layer of a decode step on a V100, kernels left out: the bound of eager decoding.

Everything up to a launch is real: selectors, operators, launchers and the packing of their arguments. It is measured
twice: without launches, and with all that Triton's launcher and ours do up to the CUDA driver, which is an empty
library, so that no card is needed. What the driver takes for a launch comes on top, and so does what torch takes to say
which stream is current.

Run it with `make bench-dispatch`, or `.venv/bin/python -m benchmarks.dispatch --help`.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import median
from timeit import repeat

import click
import torch

from benchmarks.absent_card import driver_left_out, launches_left_out
from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig, KernelsConfig
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.operators import operators_for
from runtime.linear.linear import Linear
from runtime.models.config import DecoderConfig, LayerKind, Rope
from runtime.models.decoder import Decoder
from runtime.models.weights import DecoderWeights, LayerWeights
from runtime.native.trace import is_traced
from runtime.platforms.protocol import declared

_BLOCK_SIZE = 16
_CONTEXT = 64
_FEW, _MANY = 2, 34
"""Layers of the two models whose difference is timed."""

# Small, since what the host does for a product does not depend on its size; the group of heads is that of an 8B model.
_HIDDEN, _INNER, _HEADS, _KV_HEADS, _HEAD_DIM, _VOCABULARY = 256, 512, 8, 2, 64, 256


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=7, show_default=True, help="Times each is measured.")
@click.option("--steps", type=click.IntRange(min=1), default=30, show_default=True, help="Steps in a round.")
def main(rounds: int, steps: int) -> None:
    """Print the host's time for a layer of a decode step, without launches and with them, for several batches."""
    # A kernel stays with the driver that it was first launched by.
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawning, max_tasks_per_child=1) as fresh:
        for launched in (False, True):
            for requests, microseconds in fresh.submit(_figures, launched, rounds, steps).result().items():
                told = ", with its launches up to the driver" if launched else ""
                click.echo(f"requests {requests}: {_told(microseconds)} a layer{told}")
    torch.set_num_threads(1)
    click.echo(f"for comparison, `torch.empty` of four numbers takes {yardstick_microseconds():.2f} us here")
    asked = min(repeat(is_traced, number=100_000)) * 10
    click.echo(f"to ask whether a trace is on takes {asked:.3f} us, 13 times a layer")


def _figures(launched: bool, rounds: int, steps: int) -> Mapping[int, Sequence[float]]:
    """By the number of requests."""
    torch.set_num_threads(1)
    with driver_left_out() if launched else launches_left_out():
        return {requests: layer_microseconds(requests, rounds, steps) for requests in (1, 8)}


def layer_microseconds(requests: int, rounds: int, steps: int) -> Sequence[float]:
    """A figure a round: the processor time that a model of many layers takes more than one of few, by layer."""
    models = [_Decoding(layers, requests) for layers in (_FEW, _MANY)]
    times = [[model.seconds(steps) for model in models] for _ in range(rounds + 1)]
    return [(many - few) / (_MANY - _FEW) * 1e6 for few, many in times[1:]]


def yardstick_microseconds() -> float:
    """How long torch takes here for next to nothing, which tells machines apart; an idle server's takes about 1 us."""
    return min(repeat(lambda: torch.empty(4), number=20_000)) / 20_000 * 1e6


class _Decoding:
    """A model on a V100 that is not here, and one step of its decoding."""

    def __init__(self, layers: int, requests: int) -> None:
        platform = declared("sm70")
        operators = operators_for("sm70", "float16")
        linear = Linear("sm70", torch.float16, KernelsConfig())
        self._model = Decoder(_config(layers), _weights(layers), torch.float16, torch.float16, linear, operators)
        blocks = _CONTEXT // _BLOCK_SIZE
        cache = PagedKVCache(
            self._model.layers, requests * blocks, _BLOCK_SIZE, dtype=torch.float16, operators=operators
        )
        self._attention = Attention(self._model.layers, cache, platform, AttentionConfig())  # type: ignore[arg-type]
        tables = [list(range(request * blocks, (request + 1) * blocks)) for request in range(requests)]
        self._batch = AttentionBatch.build(tables, [_CONTEXT - 1] * requests, [1] * requests, _BLOCK_SIZE)
        self._tokens = torch.zeros(requests, dtype=torch.int64)

    def seconds(self, steps: int) -> float:
        """Median processor time of a forward pass, after the step was begun: what others take does not count."""
        gc.disable()
        times = []
        for _ in range(steps):
            self._attention.begin(self._batch)
            start = time.thread_time()
            self._model.forward(self._tokens, self._batch.positions, self._attention)
            times.append(time.thread_time() - start)
        gc.enable()
        return median(times)


def _config(layers: int) -> DecoderConfig:
    return DecoderConfig(
        family="llama",
        vocab_size=_VOCABULARY,
        hidden_size=_HIDDEN,
        intermediate_size=_INNER,
        num_heads=_HEADS,
        num_kv_heads=_KV_HEADS,
        head_dim=_HEAD_DIM,
        layers=(LayerKind(Rope(1e4)),) * layers,
        max_positions=_CONTEXT,
        norm_eps=1e-5,
        activation="silu",
        attention_scale=_HEAD_DIM**-0.5,
        tied_embeddings=True,
    )


def _weights(layers: int) -> DecoderWeights:
    def packed(n: int, k: int) -> PackedMatrix:
        return PackedMatrix.empty(weight_format("awq_int4"), n, k, 128, "cpu")

    norm, heads = torch.ones(_HIDDEN), _HEADS * _HEAD_DIM
    layer = LayerWeights(
        attention_norm=norm,
        qkv=(packed(heads + 2 * _KV_HEADS * _HEAD_DIM, _HIDDEN),),
        output=packed(_HIDDEN, heads),
        mlp_norm=norm,
        gate_up=(packed(2 * _INNER, _HIDDEN),),
        down=packed(_HIDDEN, _INNER),
    )
    table = torch.empty(_VOCABULARY, _HIDDEN, dtype=torch.float16)
    return DecoderWeights(table, (layer,) * layers, norm, table)


def _told(figures: Sequence[float]) -> str:
    return f"{median(figures):.1f} us (fastest {min(figures):.1f})"


if __name__ == "__main__":
    main()
