"""Native operators as torch knows them: well registered, right on a CPU, and strict where there is no data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor

from runtime.attention.workspace import Workspace
from runtime.formats.kv.codecs import get_codec
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float8 import quantize_float8
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.cuda.driver import Driver
from runtime.kernels.paged import KVPages, PagedRows
from runtime.kernels.reference import product as reference
from runtime.kernels.reference.activation import silu_and_mul
from runtime.kernels.reference.paged_attention import paged_prefill
from runtime.kernels.variants import CudaVariant
from runtime.native import paged, products
from runtime.native.calling import kernel_of, torch_operator
from runtime.native.schemas import OPERATORS, POLICY_ABI
from runtime.native.trace import NativeDispatchTrace

ATTENTION = ("flash_prefill", "grouped_decode", "paged_attention")
Call = tuple[tuple[Any, ...], dict[str, Any]]


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def attention_call(generator: torch.Generator, codec_name: str = "fp16", decode: bool = False) -> Call:
    """Two requests over shuffled pages."""
    lengths, contexts, block_size = ([1, 1] if decode else [3, 1]), [9, 5], 4
    codec = get_codec(codec_name, torch.float16)
    random = torch.randn((2, 2, 24, 64), generator=generator, dtype=torch.float32).half()
    keys, values = (codec.encode(rows, 1.0) for rows in random)
    numbers = [torch.tensor(row, dtype=torch.int32) for row in ([0, lengths[0]], lengths, contexts)]
    tables = torch.tensor([[5, 0, 2], [1, 3, 0]], dtype=torch.int32)
    query = torch.randn((sum(lengths), 4, 64), generator=generator).half()
    options = {"block_size": block_size, "longest_query": max(lengths), "codec": codec_name}
    scales = {"k_scale": 1.0, "v_scale": 1.0, "scale": 0.125, "window": 6, "softcap": None}
    return (query, keys, values, *numbers, tables, torch.full_like(query, torch.nan)), {**options, **scales}


def weight(generator: torch.Generator) -> PackedMatrix:
    return quantize_integer(torch.randn((16, 64), generator=generator), weight_format("awq_int4"), 32, symmetric=False)


def flat(matrix: PackedMatrix) -> tuple[Any, ...]:
    parts = [*matrix.parts.values()], [*matrix.parts]
    return (*parts, matrix.spec.name, list(matrix.shape), matrix.group_size)


def call_of(name: str, generator: torch.Generator) -> Call:
    if name in ATTENTION:
        return attention_call(generator, decode=name == "grouped_decode")
    x = torch.randn((3, 64), generator=generator).half()
    calls: dict[str, tuple[Any, ...]] = {
        "gemv": (x, *flat(weight(generator)), torch.randn(16, generator=generator).half()),
        "gemv_gated": (x, *flat(weight(generator)), None, "gelu_tanh"),
        "gemv_add": (torch.randn((3, 16), generator=generator).half(), x, *flat(weight(generator))),
        "dequantize": (*flat(weight(generator)), 5, torch.full((7, 64), torch.nan).half()),
    }
    return calls[name], {}


@pytest.mark.parametrize("spec", OPERATORS, ids=lambda spec: spec.name)
def test_torch_finds_nothing_wrong_with_an_operator(spec: Any, generator: torch.Generator) -> None:
    arguments, options = call_of(spec.name, generator)
    operator: Any = torch_operator(spec.name)
    torch.library.opcheck(operator, arguments, options)


def test_an_operator_says_what_it_writes() -> None:
    written = {**dict.fromkeys(ATTENTION, ("out",)), "gemv_add": ("target",), "dequantize": ("out",)}
    assert {spec.name: spec.mutates for spec in OPERATORS if spec.mutates} == written


@pytest.mark.parametrize("spec", [spec for spec in OPERATORS if spec.compiler == "nvrtc"], ids=lambda spec: spec.name)
def test_every_declared_family_of_cuda_variants_exists(spec: Any) -> None:
    module = import_module(spec.kernel.partition(":")[0])
    assert {variant.name.partition("[")[0] for variant in module.variants()} == set(spec.variants)


@pytest.mark.parametrize("codec", ["fp16", "fp8_e4m3", "int8_g64"])
def test_attention_on_a_cpu_is_the_reference(codec: str, generator: torch.Generator) -> None:
    (query, keys, values, *numbers, tables, out), options = attention_call(generator, codec)
    torch_operator("flash_prefill")(query, keys, values, *numbers, tables, out, **options)
    starts, lengths, contexts = (each.tolist() for each in numbers)
    expected = torch.full_like(out, torch.nan)
    paged_prefill(
        query,
        KVPages(keys, values, get_codec(codec, torch.float16), 1.0, 1.0),
        PagedRows(starts, lengths, contexts, tables.tolist(), 4, query.device),
        scale=0.125,
        window=6,
        softcap=None,
        scratch=Workspace(),
        out=expected,
    )
    assert torch.equal(out, expected)


def test_a_decode_on_a_cpu_attends_as_a_prefill_of_one_row(generator: torch.Generator) -> None:
    arguments, options = attention_call(generator, decode=True)
    torch_operator("grouped_decode")(*arguments, **options)
    decoded = arguments[-1].clone()
    torch_operator("paged_attention")(*arguments, **options)
    torch.testing.assert_close(decoded, arguments[-1], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["flash_prefill", "grouped_decode"])
def test_torch_launches_on_a_device_what_a_direct_call_launches(
    name: str, generator: torch.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches: list[tuple[str, object, list[object]]] = []

    def record(_driver: Driver, variant: CudaVariant, grid: object, arguments: Sequence[Any]) -> None:
        told = [each.tolist() if isinstance(each, Tensor) and each.dtype == torch.int32 else each for each in arguments]
        launches.append((variant.name, grid, [each for each in told if not isinstance(each, Tensor)]))

    monkeypatch.setattr(Driver, "__call__", record)
    (query, keys, values, *numbers, tables, out), options = attention_call(generator, decode=name == "grouped_decode")
    if name == "flash_prefill":
        query, out = (rows.repeat(30, 1, 1) for rows in (query, out))
        numbers[1][0] = options["longest_query"] = 100  # more than a tile of rows
    paged.on_device(name)(query, keys, values, *numbers, tables, out, **options)
    through_torch = launches.copy()
    launches.clear()
    starts, lengths, contexts = (each.tolist() for each in numbers)
    kernel_of(name)(
        query,
        KVPages(keys, values, get_codec("fp16", torch.float16), 1.0, 1.0),
        PagedRows(starts, lengths, contexts, tables.tolist(), 4, query.device),
        scale=0.125,
        window=6,
        softcap=None,
        scratch=Workspace(),
        out=out,
    )
    assert launches
    assert through_torch == launches


def test_products_on_a_cpu_are_the_reference(generator: torch.Generator) -> None:
    matrix, x = weight(generator), torch.randn((3, 64), generator=generator).half()
    bias, target = torch.randn(16, generator=generator).half(), torch.randn((3, 16), generator=generator)
    expected = target.clone()
    reference.add_product(expected, x, matrix)
    torch_operator("gemv_add")(target, x, *flat(matrix))
    assert torch.equal(target, expected)
    assert torch.equal(torch_operator("gemv")(x, *flat(matrix), bias), reference.product(x, matrix, bias))


def test_a_gated_product_on_a_cpu_is_activated(generator: torch.Generator) -> None:
    matrix, x = weight(generator), torch.randn((3, 64), generator=generator).half()
    expected = silu_and_mul(reference.product(x, matrix))
    assert torch.equal(torch_operator("gemv_gated")(x, *flat(matrix), None, "silu"), expected)


def test_decoded_rows_are_those_that_were_asked_for(generator: torch.Generator) -> None:
    matrix = quantize_float8(torch.randn((12, 64), generator=generator), weight_format("fp8_channel"))
    out = torch.full((4, 64), torch.nan)
    torch_operator("dequantize")(*flat(matrix), 3, out)
    assert torch.equal(out, matrix.dequantize(torch.float32)[3:7])


def changed(name: str, place: int, change: Callable[[Any], Any], generator: torch.Generator) -> Call:
    arguments, options = call_of(name, generator)
    return (*arguments[:place], change(arguments[place]), *arguments[place + 1 :]), options


@pytest.mark.parametrize(
    ("name", "place", "change", "told"),
    [
        ("flash_prefill", 1, lambda keys: keys[..., :-8], "keys and values are not alike"),
        ("flash_prefill", 3, lambda starts: starts.long(), "int32"),
        ("grouped_decode", 7, lambda out: out.float(), "out is not as query"),
        ("paged_attention", 0, lambda query: query[:, :3], "out is not as query"),
        ("gemv", 0, lambda x: x[:, :-1], r"\[3, 63\], not \[rows, 64\]"),
        ("gemv", 6, lambda bias: bias[1:], r"the bias is not \[16\]"),
        ("gemv_add", 0, lambda target: target[1:], r"the target is \[2, 16\], not \[3, 16\]"),
        ("gemv_gated", 7, lambda _name: "relu", "activations are silu, gelu_tanh, not relu"),
        ("dequantize", 6, lambda out: out[:, 1:], r"not \[rows, 64\]"),
        ("dequantize", 6, lambda out: out.repeat(2, 1), "there are 16 rows"),
    ],
)
def test_a_call_without_data_that_cannot_be_is_refused(
    name: str, place: int, change: Callable[[Any], Any], told: str, generator: torch.Generator
) -> None:
    arguments, options = changed(name, place, change, generator)
    meta = [_to_meta(argument) for argument in arguments]
    with pytest.raises(ValueError, match=told):
        torch_operator(name)(*meta, **options)


def _to_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to("meta")
    return [_to_meta(each) for each in value] if isinstance(value, list) else value


def test_decoded_columns_stay_in_the_order_in_which_they_are_stored(generator: torch.Generator) -> None:
    order = torch.randperm(64, generator=generator, dtype=torch.int32)
    values = torch.randn((16, 64), generator=generator)
    matrix = quantize_integer(values, weight_format("gptq_int4"), 32, symmetric=True, order=order)
    out = torch.full((16, 64), torch.nan)
    torch_operator("dequantize")(*flat(matrix), 0, out)
    assert torch.equal(out, matrix.dequantize(torch.float32)[:, order.long()])


def observing() -> NativeDispatchTrace:
    binary = {"kind": "prebuilt", "policy_abi": POLICY_ABI}
    return NativeDispatchTrace(platform="cpu", device="cpu", configuration="c0ffee", binary=binary)


def test_a_trace_counts_equal_calls_with_their_shapes_and_dtypes(generator: torch.Generator) -> None:
    matrix, x = weight(generator), torch.randn((3, 64), generator=generator).half()
    out, product = torch.empty((2, 64)), products.Product(matrix)
    with observing() as trace, torch.inference_mode():
        for rows in (3, 3, 1):
            product(x[:rows].clone())
        products.dequantize(matrix, 0, out)
    document = trace.document()
    native = [row for row in document["operators"] if row["name"].startswith("voltgate::")]  # type: ignore[attr-defined]
    parts = [[16, 32], [16, 2], [16, 2]]
    kinds = ["uint8", "float16", "uint8"]
    gemv = {"name": "voltgate::gemv", "dtypes": ["float16", *kinds], "options": {"form": "awq_int4"}}
    decoded = {"name": "voltgate::dequantize", "dtypes": [*kinds, "float32"], "options": {"form": "awq_int4"}}
    assert native == [
        {**gemv, "shapes": [[3, 64], *parts], "count": 2},
        {**gemv, "shapes": [[1, 64], *parts], "count": 1},
        {**decoded, "shapes": [*parts, [2, 64]], "count": 1},
    ]
    assert document["kernels"] == []  # on a CPU the references run
    assert document["configuration"] == "c0ffee"
    assert document["binary"] == {"kind": "prebuilt", "policy_abi": POLICY_ABI}


def test_an_attention_call_is_traced_and_gives_what_it_gives_without(generator: torch.Generator) -> None:
    (query, keys, values, *numbers, tables, out), _ = attention_call(generator)
    pages = KVPages(keys, values, get_codec("fp16", torch.float16), 1.0, 1.0)
    starts, lengths, contexts = (each.tolist() for each in numbers)
    rows = PagedRows(starts, lengths, contexts, tables.tolist(), 4, query.device)
    options: dict[str, Any] = {"scale": 0.125, "window": 6, "softcap": None, "scratch": Workspace()}
    with observing() as trace:
        paged.flash_prefill(query, pages, rows, **options, out=out)
    expected = torch.empty_like(out)
    paged_prefill(query, pages, rows, **options, out=expected)
    assert torch.equal(out, expected)
    rows_seen: list[Any] = trace.document()["operators"]  # type: ignore[assignment]
    assert [row["options"] for row in rows_seen if row["name"] == "voltgate::flash_prefill"] == [{"codec": "fp16"}]


class RecordedGemv:
    """In the place of `runtime.kernels.triton.gemv.Gemv`."""

    def __init__(self, *operands: object) -> None:
        self.calls: list[tuple[object, ...]] = [operands]

    def __call__(self, *arguments: object) -> list[tuple[object, ...]]:
        self.calls.append(arguments)
        return self.calls

    def add_to(self, *arguments: object) -> None:
        self.calls.append(arguments)


def test_without_a_trace_what_was_prepared_is_launched_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.kernels.triton.gemv.Gemv", RecordedGemv)
    monkeypatch.setattr(products, "torch_operator", lambda _name: pytest.fail("went through torch"))
    matrix, bias, target, x, room = (object() for _ in range(5))
    product = products.Product(matrix, bias, "silu")  # type: ignore[arg-type]
    product.add_to(target, x)  # type: ignore[arg-type]
    calls = product(x, room)  # type: ignore[arg-type]
    assert calls == [(matrix, bias, "silu"), (target, x), (x, room)]


def test_a_kernel_of_cuda_tells_the_trace_its_name_before_it_is_launched() -> None:
    variant = CudaVariant(name="probe[d64]", source="", entry="", defines={}, threads=32)
    arguments = (torch.zeros(2, 3, dtype=torch.float16), 5, torch.zeros(4, dtype=torch.int32), 0.5)
    with observing() as trace, pytest.raises(ValueError, match="Expected a cuda device"):
        Driver(lambda _variant, _capability: b"")(variant, (1, 1, 1), arguments)
    assert trace.document()["kernels"] == [
        {"name": "probe[d64]", "shapes": [[2, 3], [4]], "dtypes": ["float16", "int32"], "count": 1}
    ]


def test_a_trace_that_ended_sees_nothing_more() -> None:
    with observing() as trace:
        torch.ones(2) + 1
    before = trace.document()
    torch.ones(2) + 1
    assert trace.document() == before
