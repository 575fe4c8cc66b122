"""KV codecs, judged by torch's own float8 casts and by the definition of the formats."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import ConfigError
from runtime.formats.kv.codecs import get_codec
from runtime.formats.kv.declarations import KV_CODECS, KVCodecSpec, codec_spec

CODES = torch.arange(256, dtype=torch.uint8)
FP8 = [("fp8_e4m3", torch.float8_e4m3fn), ("fp8_e5m2", torch.float8_e5m2)]
BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}


def value_by_definition(name: str, code: int) -> float:
    """OFP8's definition: sign, exponent and mantissa; E4M3 has one NaN of each sign and no infinity."""
    exponent_bits, mantissa_bits = {"fp8_e4m3": (4, 3), "fp8_e5m2": (5, 2)}[name]
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = (code & 0x7F) >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    bias, top = (1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1
    if name == "fp8_e5m2" and exponent == top:
        return sign * math.inf if mantissa == 0 else math.nan
    if name == "fp8_e4m3" and code & 0x7F == 0x7F:
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def finite_codes(name: str) -> torch.Tensor:
    return CODES[torch.tensor([math.isfinite(value_by_definition(name, code)) for code in range(256)])]


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize(("name", "element"), FP8)
def test_every_code_decodes_bit_for_bit_as_torch_does(name: str, element: torch.dtype, dtype: torch.dtype) -> None:
    decoded = get_codec(name).decode(CODES, 1.0, dtype)
    assert torch.equal(decoded.view(BITS[dtype]), CODES.view(element).to(torch.float32).to(dtype).view(BITS[dtype]))


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2"])
def test_every_code_means_what_the_format_defines(name: str) -> None:
    wanted = torch.tensor([value_by_definition(name, code) for code in range(256)])
    torch.testing.assert_close(
        get_codec(name).decode(CODES, 1.0, torch.float32), wanted, rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2"])
def test_every_finite_code_survives_a_round_trip(name: str) -> None:
    codec, codes = get_codec(name), finite_codes(name)
    assert torch.equal(codec.encode(codec.decode(codes, 0.75, torch.float32), 0.75), codes)


@pytest.mark.parametrize(("name", "element"), FP8)
@settings(derandomize=True, max_examples=200, deadline=None)
@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_values_in_range_are_stored_as_torch_casts_them(name: str, element: torch.dtype, values: list[float]) -> None:
    limit = codec_spec(name).max_finite
    x = torch.tensor(values).clamp(-limit, limit)
    assert torch.equal(get_codec(name).encode(x, 1.0), x.to(element).view(torch.uint8))


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2"])
def test_a_value_halfway_between_two_codes_goes_to_the_even_one(name: str) -> None:
    codec = get_codec(name)
    positive = finite_codes(name)[: len(finite_codes(name)) // 2]
    values = codec.decode(positive, 1.0, torch.float64)
    halfway = (values[1:] + values[:-1]) / 2
    even = torch.where(positive[:-1] % 2 == 0, positive[:-1], positive[1:])
    assert torch.equal(codec.encode(halfway.float(), 1.0), even)


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_too_large_saturates_and_nan_stays_nan(name: str, dtype: torch.dtype) -> None:
    codec = get_codec(name)
    limit = codec.spec.max_finite
    x = torch.tensor([limit * 1.5, -limit * 1.5, 1e30, math.inf, -math.inf, math.nan], dtype=dtype)
    stored = codec.decode(codec.encode(x, 1.0), 1.0, torch.float32)
    assert stored[:-1].tolist() == [limit, -limit, limit, limit, -limit]
    assert stored[-1].isnan()


@pytest.mark.parametrize(("name", "element"), FP8)
def test_the_scale_divides_what_is_written_and_multiplies_what_is_read(name: str, element: torch.dtype) -> None:
    codec, x = get_codec(name), torch.randn(7, 3, 5, generator=torch.Generator().manual_seed(1)) * 100
    stored = codec.encode(x, 0.37)
    assert torch.equal(stored, (x / 0.37).to(element).view(torch.uint8))
    assert torch.equal(codec.decode(stored, 0.37, torch.float32), stored.view(element).float() * 0.37)


@pytest.mark.parametrize("spec", KV_CODECS, ids=lambda spec: spec.name)
def test_encode_fills_the_tensor_that_it_is_given(spec: KVCodecSpec) -> None:
    codec = get_codec(spec.name)
    x = torch.linspace(-3, 3, 48).view(3, 16)
    out = torch.zeros(3, spec.row_elements(16), dtype=codec.storage_dtype)
    assert codec.encode(x, 1.0, out) is out
    assert torch.equal(out, codec.encode(x, 1.0))


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2"])
@pytest.mark.parametrize("stored", [CODES.view(4, 8, 8)[:, 2:5], CODES.view(16, 16).t()], ids=["sliced", "transposed"])
def test_decode_reads_views_that_are_not_contiguous(name: str, stored: torch.Tensor) -> None:
    codec = get_codec(name)
    wanted = codec.decode(stored.contiguous(), 1.0, torch.float32)
    torch.testing.assert_close(codec.decode(stored, 1.0, torch.float32), wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["fp32", "fp16", "bf16"])
def test_plain_codecs_cast_as_ieee_does_and_keep_their_own_dtype_as_it_is(name: str) -> None:
    codec = get_codec(name)
    x = torch.tensor([1.0, -0.1, 1e5, 1e39, math.nan], dtype=torch.float64)
    torch.testing.assert_close(codec.encode(x, 1.0), x.to(codec.storage_dtype), rtol=0, atol=0, equal_nan=True)
    own = x.to(codec.storage_dtype)
    assert codec.encode(own, 1.0) is own
    assert codec.decode(own, 1.0, codec.storage_dtype) is own


@pytest.mark.parametrize("name", ["fp32", "fp16", "bf16"])
def test_a_plain_codec_refuses_a_scale(name: str) -> None:
    with pytest.raises(ValueError, match="has no scale of the cache"):
        get_codec(name).encode(torch.ones(1), 0.5)
    with pytest.raises(ValueError, match="has no scale of the cache"):
        get_codec(name).decode(torch.ones(1, dtype=get_codec(name).storage_dtype), 0.5, torch.float32)


@pytest.mark.parametrize("spec", KV_CODECS, ids=lambda spec: spec.name)
def test_declarations_say_what_torch_says_of_the_element(spec: KVCodecSpec) -> None:
    element = getattr(torch, spec.element_dtype)
    limits = torch.finfo(element) if element.is_floating_point else torch.iinfo(element)
    assert (spec.bytes_per_element, spec.max_finite) == (element.itemsize, limits.max)
    assert getattr(torch, spec.storage_dtype).itemsize == element.itemsize


def test_names_and_aliases_are_unique() -> None:
    names = [name for spec in KV_CODECS for name in (spec.name, *spec.aliases)]
    assert len(names) == len(set(names))


def test_aliases_and_auto_resolve() -> None:
    assert codec_spec("fp8").name == "fp8_e4m3"
    for dtype, name in (("float32", "fp32"), ("float16", "fp16"), ("bfloat16", "bf16")):
        assert codec_spec("auto", dtype).name == name
    assert get_codec("auto", torch.bfloat16).storage_dtype is torch.bfloat16


def test_an_unknown_codec_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(ConfigError, match="no KV codec is called 'fp8_e4m4'; did you mean 'fp8_e4m3'"):
        get_codec("fp8_e4m4")


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_auto_is_refused_where_no_codec_stores_the_dtype(dtype: str | None) -> None:
    with pytest.raises(ConfigError, match="no KV codec stores"):
        codec_spec("auto", dtype)
