"""The element-wise operators, the reference's and Triton's in the interpreter, against float64 and the codecs' bits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from triton.runtime.interpreter import GridExecutor
from weight_cases import WeightCase

from runtime.engine.sampling_params import SamplingParams
from runtime.formats.kv.codecs import get_codec
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.integer import quantize_integer
from runtime.kernels.gate import Activation
from runtime.kernels.operators import REFERENCE, Operators, operators_for
from runtime.kernels.paged import KVPages
from runtime.kernels.reference.rotary import rotary_table
from runtime.kernels.rotation import Rotation
from runtime.kernels.triton import gemv

CODECS = ("fp16", "fp32", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head")
TRITON = operators_for("sm70", "float16")
POISON = 77
EPS = 1e-6

# Of NumPy, which computes what the interpreter runs, about infinities that these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")


@pytest.fixture(autouse=True)
def _poisoned_memory() -> Iterator[None]:
    """Memory that nobody wrote is NaN, which no comparison forgives."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(params=["reference", "triton"])
def operators(request: pytest.FixtureRequest) -> Operators:
    return TRITON if request.param == "triton" else REFERENCE


def halves(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).half()


def norm_weight(size: int) -> Tensor:
    return torch.rand(size, generator=torch.Generator().manual_seed(size)) + 0.5


def normed(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.double()
    return wide / (wide.square().mean(-1, keepdim=True) + EPS).sqrt() * weight.double()


def agree(found: Tensor, expected: Tensor, roundings: float = 2) -> None:
    """Within so many roundings to half of the largest value of a row."""
    bound = roundings * 2**-11 * expected.abs().amax(-1, keepdim=True)
    assert bool(((found.double() - expected).abs() <= bound).all())


@pytest.mark.parametrize(("rows", "d"), [(1, 1), (3, 576), (2, 2049)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_norm(operators: Operators, rows: int, d: int, dtype: torch.dtype) -> None:
    x, weight = halves(rows, d).to(dtype), norm_weight(d)
    found = operators.rms_norm(x, weight, EPS, torch.float16)
    assert found.dtype == torch.float16
    agree(found, normed(x, weight))


def test_norm_of_a_residual_that_float16_cannot_hold(operators: Operators) -> None:
    x, weight = halves(2, 640).float() * 1e5, norm_weight(640)
    agree(operators.rms_norm(x, weight, EPS, torch.float16), normed(x, weight))


@pytest.mark.parametrize("has_post_norm", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("d", [577, 2050])
def test_sum_and_norm(operators: Operators, d: int, dtype: torch.dtype, has_post_norm: bool) -> None:
    before, branch, weight = halves(3, d).to(dtype), halves(3, d, seed=1), norm_weight(d)
    post_weight = norm_weight(d).flip(0) if has_post_norm else None
    residual = before.clone()
    found = operators.add_rms_norm(residual, branch, weight, EPS, torch.float16, post_weight)
    added = branch.double() if post_weight is None else normed(branch, post_weight)
    assert residual.dtype == dtype
    agree(residual, before.double() + added)
    agree(found, normed(before.double() + added, weight), 4)


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (3, 1025)])
@pytest.mark.parametrize("form", ["silu", "gelu_tanh"])
def test_gated_activation(operators: Operators, form: str, rows: int, width: int) -> None:
    x = halves(rows, 2 * width) * 4
    x[0, 0] = -60000  # its exponential is no float
    gate, up = x.double().chunk(2, -1)
    if form == "silu":
        found, gated = operators.silu_and_mul(x), gate * torch.sigmoid(gate)
    else:
        found = operators.gelu_tanh_and_mul(x)
        gated = gate / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (gate + 0.044715 * gate**3)))
    agree(found, gated * up, 4)


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float16, 1.0), (torch.float32, 25.3)])
@pytest.mark.parametrize("is_packed", [False, True])
def test_embedding(operators: Operators, dtype: torch.dtype, scale: float, is_packed: bool) -> None:
    rows, tokens = halves(5, 1040), torch.tensor([4, 0, 4])
    packed = quantize_integer(rows.float(), weight_format("int8"), 0, symmetric=True)
    found = operators.embedding(packed if is_packed else rows, tokens, dtype, scale)
    values = packed.dequantize(torch.float32) if is_packed else rows
    assert found.dtype == dtype
    agree(found, values[tokens].double() * scale)


def pages_for(codec: str, num_kv_heads: int, num_slots: int, head_dim: int, scales: tuple[float, float]) -> KVPages:
    chosen = get_codec(codec)
    size = (num_kv_heads, num_slots, chosen.spec.row_elements(head_dim))
    keys, values = (torch.full(size, POISON, dtype=chosen.storage_dtype) for _ in range(2))
    return KVPages(keys, values, chosen, *scales)


def scales_of(codec: str) -> tuple[float, float]:
    return (0.37, 1.9) if codec.startswith("fp8") else (1.0, 1.0)


def same_rows(found: Tensor, expected: Tensor, head_dim: int) -> bool:
    """Bit for bit, except that any NaN is as good as another as the scale of a row."""
    if found.dtype != torch.uint8 or found.shape[-1] == head_dim:
        return torch.equal(found.nan_to_num(7e4), expected.nan_to_num(7e4))
    scales = (rows[..., head_dim:].contiguous().view(torch.float16) for rows in (found, expected))
    return torch.equal(found[..., :head_dim], expected[..., :head_dim]) and torch.equal(
        *(rows.float().nan_to_num(7e4) for rows in scales)
    )


@pytest.mark.parametrize("codec", ["fp8_e4m3", "fp8_e5m2"])
def test_every_half_has_the_code_that_torch_gives_it(codec: str) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.float16).view(2, 8, 1, 4096)
    pages = pages_for(codec, 1, 8, 4096, (1.0, 1.0))
    TRITON.write_pages(pages, torch.arange(8), every[0], every[1])
    limit, element = (448.0, torch.float8_e4m3fn) if codec == "fp8_e4m3" else (57344.0, torch.float8_e5m2)
    expected = every.float().clamp(-limit, limit).to(element).view(torch.uint8)
    assert torch.equal(pages.keys[0], expected[0, :, 0])
    assert torch.equal(pages.values[0], expected[1, :, 0])


@pytest.mark.parametrize("head_dim", [64, 80, 256])
@pytest.mark.parametrize("codec", CODECS)
def test_pages_hold_what_the_codec_says_and_nothing_else_is_written(codec: str, head_dim: int) -> None:
    tokens, num_kv_heads = 3, 2
    # Keys and values as they lie in a fused product, behind queries that do not concern the cache.
    heads = halves(tokens, 5 + 2 * num_kv_heads, head_dim) * 300
    _, keys, values = heads.split_with_sizes((5, num_kv_heads, num_kv_heads), 1)
    values[0, 1, :4] = torch.tensor([float("nan"), float("inf"), -1e-7, -0.0])
    values[1, 0], values[2, 1], keys[1, 1] = 0.0, 1e-7, float("inf")
    slots = torch.tensor([7, 0, 4])
    pages, expected = (pages_for(codec, num_kv_heads, 9, head_dim, scales_of(codec)) for _ in range(2))
    TRITON.write_pages(pages, slots, keys, values)
    REFERENCE.write_pages(expected, slots, keys, values)
    assert same_rows(pages.keys, expected.keys, head_dim)
    assert same_rows(pages.values, expected.values, head_dim)
    assert bool((pages.keys[:, [1, 2, 3, 5, 6, 8]] == POISON).all())


@pytest.mark.parametrize(
    ("codec", "shape", "has_norms"),
    [
        *product(["fp16", "fp32"], [(1, 9, 3, 64)], [False, True]),
        ("fp16", (3, 1, 1, 16), True),
        ("fp8_e4m3", (2, 4, 2, 96), False),
        ("fp8_e5m2", (1, 2, 1, 256), True),
        ("int8_g64", (2, 4, 1, 128), True),
        ("int8_per_token_head", (2, 2, 2, 80), False),
    ],
)
def test_rotation_into_pages(
    operators: Operators, codec: str, shape: tuple[int, int, int, int], has_norms: bool
) -> None:
    tokens, num_heads, num_kv_heads, head_dim = shape
    sizes = (num_heads, num_kv_heads, num_kv_heads)
    heads = halves(tokens, sum(sizes), head_dim)
    angles = torch.rand(tokens, head_dim // 2, generator=torch.Generator().manual_seed(5)) * 6
    norms = (norm_weight(head_dim), norm_weight(head_dim).flip(0)) if has_norms else (None, None)
    pages = pages_for(codec, num_kv_heads, 9, head_dim, scales_of(codec))
    slots = torch.tensor([7, 0, 4][:tokens])
    before = heads.clone()
    found = operators.rotate_and_write(pages, slots, heads, Rotation(*rotary_table(angles, torch.float16), *norms, EPS))

    def turned(rows: Tensor, norm: Tensor | None) -> Tensor:
        """The halves of a head are the parts of complex numbers, and a rotation multiplies them."""
        wide = rows.double() if norm is None else normed(rows, norm)
        numbers = torch.complex(*wide.chunk(2, -1)) * torch.polar(torch.ones_like(angles), angles).unsqueeze(1)
        return torch.cat((numbers.real, numbers.imag), -1)

    query, key, value = heads.split_with_sizes(sizes, 1)
    assert torch.equal(heads, before)
    agree(found, turned(query, norms[0]), 6)
    # A row loses a rounding of its codec besides: half a step of its mantissa, or of 1 / 127 of its largest value.
    step = {"fp8_e4m3": 2**-4, "fp8_e5m2": 2**-3, "int8_g64": 0.6 / 127, "int8_per_token_head": 0.6 / 127}.get(codec, 0)
    for stored, scale, expected in (
        (pages.keys, pages.k_scale, turned(key, norms[1])),
        (pages.values, pages.v_scale, value.double()),
    ):
        read = pages.codec.decode(stored[:, slots], scale, torch.float32).transpose(0, 1)
        agree(read, expected, 6 + step * 2**11)


@pytest.mark.parametrize("form", ["silu", "gelu_tanh"])
@pytest.mark.parametrize("case", [WeightCase("int4", 10, 64, 32), WeightCase("gguf_q6_k", 6, 256)], ids=str)
def test_product_with_its_gate(case: WeightCase, form: Activation) -> None:
    weight, x, bias = case.weight(), halves(3, case.k) / 64, halves(case.n, seed=1)
    full = x.double() @ weight.dequantize(torch.float32).double().T + bias.double()
    gate, up = full.chunk(2, -1)
    gated = functional.silu(gate) if form == "silu" else functional.gelu(gate, approximate="tanh")
    agree(gemv.gated_product(x, weight, bias, form), gated * up, 4)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that run, in their order."""
    names: list[str] = []
    run = GridExecutor.__call__

    def counted(self: GridExecutor, *arguments: object, **options: object) -> None:
        names.append(self.fn.__name__)
        run(self, *arguments, **options)

    monkeypatch.setattr(GridExecutor, "__call__", counted)
    return names


def test_an_operator_is_one_launch(launches: list[str]) -> None:
    x, weight, pages = halves(1, 64), norm_weight(64), pages_for("int8_g64", 1, 2, 64, (1.0, 1.0))
    rotation = Rotation(*rotary_table(torch.zeros(1, 32), torch.float16), weight, weight, EPS)
    TRITON.embedding(x, torch.tensor([0]), torch.float32, 2.0)
    TRITON.rms_norm(x, weight, EPS)
    TRITON.add_rms_norm(x, x, weight, EPS, torch.float16, weight)
    TRITON.rotate_and_write(pages, torch.tensor([1]), halves(1, 4, 64), rotation)
    gemv.gated_product(x, halves(2, 64), None, "silu")
    TRITON.draw_tokens(x.float(), [SamplingParams(temperature=1.0, top_k=3, top_p=0.5)], [0.5])
    assert launches == [
        "embedding_kernel",
        "rms_norm_kernel",
        "rms_norm_kernel",
        "kv_write_kernel",
        "gemv_kernel",
        "draw_tokens_kernel",
    ]
