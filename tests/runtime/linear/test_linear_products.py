"""Linear runs what was chosen, counts it, and its executors agree with the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from runtime.candidates import Choice
from runtime.config.schema import KernelsConfig
from runtime.errors import RouteError
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.reference.product import product
from runtime.linear import executors
from runtime.linear.declarations import ProviderSpec
from runtime.linear.executors import EXECUTORS, Prepare
from runtime.linear.linear import Linear
from runtime.linear.selector import PROVIDERS, LinearPlan
from runtime.linear.workspace import Workspace
from runtime.llm import LLM
from runtime.native import products


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def linear(policy: str = "auto", platform: str = "cpu", dtype: torch.dtype = torch.float32) -> Linear:
    return Linear(platform, dtype, KernelsConfig(linear=policy))


def packed(n: int, k: int, *, ordered: bool = False) -> PackedMatrix:
    order = torch.randperm(k, dtype=torch.int32) if ordered else None
    return quantize_integer(torch.randn(n, k), weight_format("gptq_int4"), 16, symmetric=True, order=order)


@pytest.mark.parametrize("rows", [1, 3, 8, 9, 70])
def test_products_on_a_cpu_are_the_reference(rows: int) -> None:
    x, bias, target = torch.randn(rows, 32), torch.randn(24), torch.randn(rows, 24)
    for weight in (torch.randn(24, 32), packed(24, 32)):
        operator, added = linear(), target.clone()
        operator.bind(weight).add_to(added, x)
        assert torch.equal(operator.bind(weight, bias)(x), product(x, weight, bias))
        torch.testing.assert_close(added, target + product(x, weight))
        assert operator.counters == {"reference": 2}


def test_a_residual_may_be_wider_than_the_product() -> None:
    x, weight, target = torch.randn(2, 16).half(), torch.randn(4, 16).half(), torch.full((2, 4), 1e6)
    expected = target + product(x, weight)
    linear(dtype=torch.float16).bind(weight).add_to(target, x)
    assert torch.equal(target, expected)


def test_a_product_of_no_rows_runs_nothing() -> None:
    operator, target = linear(), torch.empty(0, 24)
    assert operator.bind(packed(24, 32))(torch.empty(0, 32)).shape == (0, 24)
    operator.bind(torch.randn(24, 32)).add_to(target, torch.empty(0, 32))
    assert operator.counters == {"empty": 2}


def test_refusals_are_counted_by_provider_and_reason() -> None:
    operator = linear()
    for rows in (1, 2, 9):
        operator.bind(packed(24, 32))(torch.randn(rows, 32))
    assert operator.refusals["triton_gemv", "runs on sm70 or cuda, not on cpu"] == 3
    assert operator.refusals["dequantize_cublas", "runs on sm70 or cuda, not on cpu"] == 3


def test_a_choice_is_made_once_for_all_products_that_it_does_not_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[tuple[int, int, str]] = []

    select = PROVIDERS.select

    def counted(plan: LinearPlan, forced: str) -> Choice[ProviderSpec]:
        chosen.append((plan.rows, plan.inputs, plan.format))
        return select(plan, forced)

    monkeypatch.setattr(PROVIDERS, "select", counted)
    operator = linear()
    dense, coded, other, narrow = map(
        operator.bind, (torch.randn(24, 32), packed(24, 32), packed(8, 32), torch.randn(24, 16))
    )
    for rows in (1, 8, 2, 8, 9, 30, 1):
        dense(torch.randn(rows, 32))
        coded(torch.randn(rows, 32))
    other(torch.randn(1, 32))
    narrow(torch.randn(5, 16))
    assert chosen == [(1, 32, "dense"), (1, 32, "gptq_int4"), (9, 32, "dense"), (9, 32, "gptq_int4"), (5, 16, "dense")]
    assert operator.counters == {"reference": 16}


@pytest.mark.parametrize("policy", ["triton_gemv", "cublas_fp16"])
def test_a_forced_provider_that_can_never_run_here_is_refused_at_once(policy: str) -> None:
    with pytest.raises(RouteError, match=f"kernels.linear: '{policy}' was forced .*not on cpu"):
        linear(policy)


def test_the_setting_reaches_the_products_of_a_model(tiny_model: Path) -> None:
    with pytest.raises(RouteError, match=r"kernels\.linear: no provider is called 'referense'"):
        LLM(tiny_model, platform="cpu", settings={"kernels.linear": "referense"})
    model = LLM(tiny_model, platform="cpu", settings={"kernels.linear": "reference"})
    (output,) = model.generate("a")
    steps, layers = output.outputs[0].num_tokens, 2
    assert model.linear.counters == {"reference": steps * (4 * layers + 1)}


Decoding = tuple[Prepare, list[tuple[int, int]]]


@pytest.fixture
def dequantized(monkeypatch: pytest.MonkeyPatch) -> Decoding:
    """Prepares products that decode 100 weights at a time by the reference, and (first row, rows) of each tile."""
    tiles: list[tuple[int, int]] = []

    def decode(weight: PackedMatrix, first_row: int, out: Tensor) -> None:
        tiles.append((first_row, len(out)))
        stored = weight.dequantize(torch.float16)
        if "order" in weight.parts:
            stored = stored[:, weight.parts["order"]]
        out.copy_(stored[first_row : first_row + len(out)])

    monkeypatch.setattr(products, "dequantize", decode)
    monkeypatch.setattr(executors, "TILE_ELEMENTS", 100)
    return EXECUTORS["dequantize_cublas"](Workspace()), tiles


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("k", [16, 32, 112])
def test_decoding_tile_by_tile_gives_the_same_product(dequantized: Decoding, ordered: bool, k: int) -> None:
    """Whatever the number of rows that a tile holds: here six, three, and one that is larger than a tile."""
    prepare, tiles = dequantized
    weight, x, bias = packed(8, k, ordered=ordered), torch.randn(9, k).half(), torch.randn(8).half()
    exact = x.double() @ weight.dequantize(torch.float16).double().t()

    torch.testing.assert_close(prepare(weight, bias, None)(x).double(), exact + bias, atol=0.05, rtol=2e-3)
    step = max(100 // k, 1)
    assert tiles == [(start, min(step, 8 - start)) for start in range(0, 8, step)]
    for dtype, tolerance in ((torch.float16, 0.05), (torch.float32, 0.02)):
        target = torch.ones(9, 8, dtype=dtype)
        prepare(weight, None, None).add_to(target, x)
        torch.testing.assert_close(target.double(), exact + 1, atol=tolerance, rtol=2e-3)


CPU = torch.device("cpu")


def test_the_buffer_grows_and_is_shared() -> None:
    workspace = Workspace()
    first = workspace.tile(4, 8, CPU)
    assert (first.dtype, first.shape, first.is_contiguous()) == (torch.float16, (4, 8), True)
    assert workspace.tile(2, 3, CPU).data_ptr() == first.data_ptr()
    larger = workspace.tile(5, 8, CPU)
    assert workspace.tile(4, 8, CPU).data_ptr() == larger.data_ptr()


def test_the_buffer_never_grows_while_a_graph_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace()
    before = workspace.tile(4, 8, CPU).data_ptr()
    for name in ("is_available", "is_current_stream_capturing"):
        monkeypatch.setattr(torch.cuda, name, lambda: True)
    assert workspace.tile(8, 4, CPU).data_ptr() == before
    with pytest.raises(RuntimeError, match="run every step once before"):
        workspace.tile(5, 8, CPU)
    assert workspace.tile(4, 8, CPU).data_ptr() == before
