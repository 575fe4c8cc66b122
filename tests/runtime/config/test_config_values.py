"""Typed values and their texts: what is admitted, and what the refusal says."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from config_strategies import valid
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.config import FIELDS, parsed, resolve
from runtime.config.fields import FieldSpec, assemble, flatten
from runtime.config.schema import RuntimeConfig
from runtime.config.values import PARSERS, checked, expected
from runtime.errors import ConfigError

seeded = settings(derandomize=True, deadline=None, max_examples=200)


def as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@seeded
@given(st.data())
def test_the_text_of_a_value_parses_to_that_value(data: st.DataObject) -> None:
    spec = FIELDS[data.draw(st.sampled_from(sorted(FIELDS)))]
    value = data.draw(valid(spec))
    text = as_text(value)
    if text == text.strip():
        assert parsed(spec, text, "here") == value


def result_or_refusal(read: Callable[..., object], spec: FieldSpec, value: object) -> object:
    try:
        return read(spec, value, "here")
    except ConfigError as error:
        return str(error)


@seeded
@given(st.sampled_from(sorted(FIELDS)), st.text() | st.text(alphabet="0123456789.-+_e,infaGMKB ", max_size=12))
def test_any_text_is_a_valid_value_or_a_clear_error(path: str, text: str) -> None:
    spec = FIELDS[path]
    outcome = result_or_refusal(parsed, spec, text)
    refusal = f"here: {text!r} is not valid; {path} must be {expected(spec)}"
    assert outcome == refusal or checked(spec, outcome, "here") == outcome


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers())


@seeded
@given(st.sampled_from(sorted(FIELDS)), ANYTHING)
def test_any_object_is_a_valid_value_or_a_clear_error(path: str, value: object) -> None:
    spec = FIELDS[path]
    outcome = result_or_refusal(checked, spec, value)
    refusal = f"here: {value!r} is not valid; {path} must be {expected(spec)}"
    assert outcome == refusal or checked(spec, outcome, "here") == outcome


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("model.dtype", "FP16", "float16"),
        ("model.dtype", "half", "float16"),
        ("cache.codec", "fp8", "fp8_e4m3"),
        ("cache.memory_bytes", "8GiB", 8 * 2**30),
        ("cache.memory_bytes", "512 mib", 512 * 2**20),
        ("cache.memory_bytes", "auto", None),
        ("cache.prefix_caching", "Off", False),
        ("graphs.enabled", "none", None),
        ("graphs.batch_sizes", "1, 2,4", (1, 2, 4)),
        ("cache.k_scale", "0.5", 0.5),
        ("model.path", "/a b.gguf", "/a b.gguf"),
    ],
)
def test_texts(path: str, text: str, value: object) -> None:
    assert parsed(FIELDS[path], text, "here") == value


@pytest.mark.parametrize(
    ("path", "value", "must_be"),
    [
        ("cache.block_size", True, "a whole number, at least 1"),
        ("cache.block_size", 16.0, "a whole number, at least 1"),
        ("cache.block_size", "16", "a whole number, at least 1"),
        ("cache.block_size", 0, "a whole number, at least 1"),
        ("cache.num_blocks", 0, "a whole number, at least 1, or unset"),
        ("model.seed", -1, "a whole number, at least 0"),
        ("cache.k_scale", 0.0, "a finite number, above 0"),
        ("cache.k_scale", math.inf, "a finite number, above 0"),
        ("cache.k_scale", math.nan, "a finite number, above 0"),
        ("cache.k_scale", 10**400, "a finite number, above 0"),
        ("cache.prefix_caching", 1, "true or false"),
        ("graphs.batch_sizes", [1, 0], "whole numbers, each at least 1"),
        ("graphs.batch_sizes", [True], "whole numbers, each at least 1"),
        ("scheduler.policy", "lifo", "one of fcfs, priority"),
        ("model.path", b"x", "a text"),
        ("model.dtype", None, "one of auto, float32, float16, bfloat16, fp32, float, fp16, half, bf16"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(path: str, value: object, must_be: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({path: value}, {})
    assert str(caught.value) == f"{path}: {value!r} is not valid; {path} must be {must_be}"


def test_numbers_and_paths_are_stored_in_their_declared_type() -> None:
    config = resolve({"k_scale": 2, "batch_sizes": [1, 2], "model.path": Path("/x/model.gguf")}, {}).config
    assert (config.cache.k_scale, type(config.cache.k_scale)) == (2.0, float)
    assert config.graphs.batch_sizes == (1, 2)
    assert config.model.path == "/x/model.gguf"


@pytest.mark.parametrize("spec", FIELDS.values(), ids=lambda spec: spec.path)
def test_every_setting_has_a_help_a_parser_and_an_admitted_default(spec: FieldSpec) -> None:
    assert spec.help
    assert spec.kind in PARSERS
    assert checked(spec, spec.default, "default") == spec.default


def test_flatten_and_assemble_are_inverse() -> None:
    config = resolve({"block_size": 64, "log_stats": True}, {}).config
    assert list(flatten(config)) == list(FIELDS)
    assert assemble(RuntimeConfig, flatten(config)) == config
