"""A decode step over the kernels that a V100 runs: what it says, where it puts things, and what a trace sees of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig, KernelsConfig
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.observing import OBSERVER
from runtime.kernels.operators import operators_for
from runtime.linear.linear import Linear
from runtime.models.config import DecoderConfig, LayerKind, Rope
from runtime.models.decoder import Decoder
from runtime.models.weights import DecoderWeights, LayerWeights
from runtime.native.trace import NativeDispatchTrace
from runtime.platforms.protocol import declared

HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY, BLOCK_SIZE = 32, 32, 1, 1, 64, 8, 16
LAYERS = 2
Launches = list[tuple[str, tuple[int, ...]]]
"""The variant, and the addresses of its tensors."""


def packed(n: int, k: int, generator: torch.Generator) -> PackedMatrix:
    values = torch.randn((n, k), generator=generator) * k**-0.5
    return quantize_integer(values, weight_format("awq_int4"), 32, symmetric=False)


def weights() -> DecoderWeights:
    generator = torch.Generator().manual_seed(3)
    norm, heads = torch.ones(HIDDEN), HEADS * HEAD_DIM
    layers = tuple(
        LayerWeights(
            attention_norm=norm,
            qkv=(packed(heads + 2 * KV_HEADS * HEAD_DIM, HIDDEN, generator),),
            output=packed(HIDDEN, heads, generator),
            mlp_norm=norm,
            gate_up=(packed(2 * INNER, HIDDEN, generator),),
            down=packed(HIDDEN, INNER, generator),
        )
        for _ in range(LAYERS)
    )
    table = torch.randn((VOCABULARY, HIDDEN), generator=generator).half()
    return DecoderWeights(table, layers, norm, table)


class Decoding:
    """A model whose requests have five tokens each in the cache."""

    def __init__(self, platform: str, requests: int) -> None:
        config = DecoderConfig(
            family="llama",
            vocab_size=VOCABULARY,
            hidden_size=HIDDEN,
            intermediate_size=INNER,
            num_heads=HEADS,
            num_kv_heads=KV_HEADS,
            head_dim=HEAD_DIM,
            layers=(LayerKind(Rope(1e4)),) * LAYERS,
            max_positions=64,
            norm_eps=1e-5,
            activation="silu",
            attention_scale=HEAD_DIM**-0.5,
            tied_embeddings=True,
        )
        operators = operators_for(platform, "float16")
        linear = Linear(platform, torch.float16, KernelsConfig())
        self.model = Decoder(config, weights(), torch.float16, torch.float16, linear, operators)
        cache = PagedKVCache(self.model.layers, requests, BLOCK_SIZE, dtype=torch.float16, operators=operators)
        generator = torch.Generator().manual_seed(4)
        for layer in range(LAYERS):
            for stored in (cache.pages(layer).keys, cache.pages(layer).values):
                stored.copy_(torch.randn(stored.shape, generator=generator))
        self.attention = Attention(
            self.model.layers,
            cache,
            declared(platform),
            AttentionConfig(),
            "there is no compiler",  # type: ignore[arg-type]
        )

    def step(self, requests: int) -> Tensor:
        tables = [[request] for request in range(requests)]
        batch = AttentionBatch.build(tables, [5] * requests, [1] * requests, BLOCK_SIZE)
        self.attention.begin(batch)
        return self.model.forward(torch.arange(requests), batch.positions, self.attention)


@contextmanager
def observed(kept: list[Tensor]) -> Iterator[Launches]:
    """What is launched meanwhile. Its tensors are kept, so that none takes the place of another that was freed."""
    launches: Launches = []

    def note(variant: str, arguments: Sequence[object]) -> None:
        tensors = [each for each in arguments if isinstance(each, Tensor)]
        kept.extend(tensors)
        launches.append((variant, tuple(each.data_ptr() for each in tensors)))

    token = OBSERVER.set(note)
    try:
        yield launches
    finally:
        OBSERVER.reset(token)


def test_it_says_what_the_references_say() -> None:
    expected = Decoding("cpu", 3).step(3)
    found = Decoding("sm70", 3).step(3)
    torch.testing.assert_close(found, expected, rtol=0, atol=2**-7 * float(expected.abs().max()))


def test_a_trace_names_operators_with_their_formats_and_kernels() -> None:
    decoding = Decoding("sm70", 1)
    trace = NativeDispatchTrace(platform="sm70", device="cpu", configuration="", binary={}, interpreted=True)
    with trace:
        decoding.step(1)
    document = trace.document()
    kernels: list[dict[str, object]] = document["kernels"]  # type: ignore[assignment]
    operators: list[dict[str, object]] = document["operators"]  # type: ignore[assignment]
    assert {row["name"]: row["count"] for row in kernels} == {
        "embedding[fp16]": 1,
        "rms_norm[fp16]": 1 + 2 * LAYERS,
        "kv_write[float16,d128]": LAYERS,
    }
    # On a CPU torch gives operators to their references, whatever the platform is called.
    native = [row for row in operators if str(row["name"]).startswith("voltgate::")]
    assert sum(int(str(row["count"])) for row in native) == 5 * LAYERS
    assert {str(row["options"]) for row in native if "gemv" in str(row["name"])} == {
        "{'form': 'awq_int4'}",
        "{'form': 'awq_int4', 'activation': 'silu'}",
    }
    assert kernels[1]["shapes"] == [[1, HIDDEN], [1, HIDDEN], [HIDDEN], [HIDDEN], [1, HIDDEN]]
    assert kernels[1]["dtypes"] == ["float16", "float16", "float32", "float32", "float16"]


@dataclass(frozen=True)
class Steps:
    """Steps of one request, of two and of one again in one model: what they launched.

    Attributes:
        tensors: how many there were then, and how many after one more step.
    """

    launches: list[Launches]
    tensors: tuple[int, int]


@pytest.fixture(scope="module")
def steps() -> Steps:
    decoding = Decoding("sm70", 2)
    launches: list[Launches] = []
    kept: list[Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        for module in ("products", "paged"):  # launches are observed, and operators are not sent through torch
            patch.setattr(f"runtime.native.{module}.is_traced", lambda: False)
        for requests in (1, 2, 1):
            with observed(kept) as of_step:
                decoding.step(requests)
            launches.append(of_step)
    kept.clear()
    before = living()
    decoding.step(1)
    return Steps(launches, (before, living()))


def living() -> int:
    gc.collect()
    return sum(type(each) is Tensor for each in gc.get_objects())


def test_a_step_is_eight_launches_a_layer(steps: Steps) -> None:
    assert [len(launches) for launches in steps.launches] == [2 + 8 * LAYERS] * 3
    assert {variant for variant, _ in steps.launches[0]} == {
        "embedding[fp16]",
        "rms_norm[fp16]",
        "gemv[int4,m1]",
        "kv_write[float16,d128]",
        "paged_attention[fp16,d64,m1]",
    }


def test_nothing_of_a_layer_moves_between_steps(steps: Steps) -> None:
    """What lies elsewhere each time is what a step brings: tokens, rotations, slots, and what is said of requests."""
    of_layers = [
        [launch for launch in launches if launch[0].startswith(("gemv", "rms_norm"))] for launches in steps.launches
    ]
    assert of_layers[0] == of_layers[2]


def test_layers_and_steps_of_every_size_take_turns_in_the_same_memory(steps: Steps) -> None:
    written = [
        {addresses[-1] for variant, addresses in launches if variant.startswith("gemv")} for launches in steps.launches
    ]
    assert len(written[0]) == 3  # heads, the residual stream, and what is gated
    assert all(places == written[0] for places in written)


def test_steps_leave_no_memory_behind(steps: Steps) -> None:
    before, after = steps.tensors
    assert before == after


def test_weights_go_with_their_model() -> None:
    decoding = Decoding("sm70", 1)
    x = torch.zeros(1, INNER, dtype=torch.float16)
    bound = decoding.model.linear.bind(decoding.model.weights.layers[0].down)
    bound(x)
    downs = [layer.down for layer in decoding.model.weights.layers]
    held = [weakref.ref(down.parts["codes"]) for down in downs if isinstance(down, PackedMatrix)]
    del downs
    assert len(held) == LAYERS
    assert all(each() is not None for each in held)
    del decoding, bound
    assert all(each() is None for each in held)
