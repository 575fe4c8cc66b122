"""Precedence, provenance, derived values and safety overrides."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
from config_strategies import explicit, valid
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.config import (
    FIELDS,
    ConfigBuilder,
    ConfigWarning,
    Defaults,
    Override,
    Resolved,
    RuntimeConfig,
    owner_path,
    resolve,
)
from runtime.config.fields import flatten
from runtime.errors import ConfigError

seeded = settings(derandomize=True, deadline=None, max_examples=60)

PLATFORM = Defaults("card", {"model.dtype": ("float16", "fast here"), "scheduler.max_num_seqs": (32, "small card")})
MODEL = Defaults("family", {"model.dtype": ("bfloat16", "as trained"), "model.residual_dtype": ("float32", "overflow")})
NO_BF16 = Override("model.dtype", lambda config: config.model.dtype == "bfloat16", "float16", "no bf16", "card")


def sources(resolved: Resolved, path: str) -> list[str]:
    provenance = resolved.provenance[path]
    return [candidate.source for candidate in (provenance.chosen, *provenance.overridden)]


def test_each_source_beats_all_below_it_and_the_beaten_are_remembered() -> None:
    stated: list[tuple[str, str, dict[str, object]]] = [
        ("declared", "auto", {}),
        ("model", "bfloat16", {"model": MODEL}),
        ("platform", "float16", {"platform": PLATFORM}),
        ("environment", "float32", {"environ": {"V100_DTYPE": "float32"}}),
        ("explicit", "bfloat16", {"explicit": {"model.dtype": "bfloat16"}}),
        ("safety", "float16", {"safety": [NO_BF16]}),
    ]
    arguments: dict[str, object] = {"explicit": {}, "environ": {}}
    expected: list[str] = []
    for source, value, addition in stated:
        arguments |= addition
        expected.insert(0, source)
        if source == "safety":
            with pytest.warns(ConfigWarning, match=r"model\.dtype: 'bfloat16' was asked for, 'float16' is used"):
                resolved = resolve(**arguments)  # type: ignore[arg-type]
        else:
            resolved = resolve(**arguments)  # type: ignore[arg-type]
        assert resolved.config.model.dtype == value
        assert sources(resolved, "model.dtype") == expected


def test_the_first_declared_of_two_variables_wins() -> None:
    with pytest.warns(ConfigWarning):
        resolved = resolve({}, {"V100_UNKNOWN_A": "", "V100_KV_DTYPE": "fp16", "V100_KV_CODEC": "fp8_e5m2"})
    provenance = resolved.provenance["cache.codec"]
    assert resolved.config.cache.codec == "fp8_e5m2"
    assert [candidate.origin for candidate in (provenance.chosen, *provenance.overridden)] == [
        "V100_KV_CODEC",
        "V100_KV_DTYPE",
        "",
    ]


def test_auto_and_none_leave_the_choice_to_weaker_sources() -> None:
    stated = {"model.dtype": "auto", "scheduler.max_num_seqs": 8, "model.max_model_len": None}
    model = Defaults("family", {"model.max_model_len": (4096, "trained so")})
    resolved = resolve(stated, {"V100_DTYPE": "auto"}, platform=PLATFORM, model=model)
    assert resolved.config.model.dtype == "float16"
    assert resolved.config.model.max_model_len == 4096


@pytest.mark.parametrize(
    ("dtype", "codec"), [("float32", "fp32"), ("float16", "fp16"), ("bfloat16", "bf16"), ("auto", "auto")]
)
def test_what_is_auto_follows_the_compute_dtype(dtype: str, codec: str) -> None:
    resolved = resolve({"dtype": dtype}, {})
    assert (resolved.config.model.residual_dtype, resolved.config.cache.codec) == (dtype, codec)
    assert sources(resolved, "cache.codec") == ["derived", "declared"][dtype == "auto" :]


def test_a_residual_that_the_model_declares_is_kept_unless_the_user_states_another() -> None:
    assert resolve({}, {}, platform=PLATFORM, model=MODEL).config.model.residual_dtype == "float32"
    stated = {"model.residual_dtype": "float16"}
    assert resolve(stated, {}, platform=PLATFORM, model=MODEL).config.model.residual_dtype == "float16"


STEPS: dict[str, Callable[[ConfigBuilder], ConfigBuilder]] = {
    "model": lambda builder: builder.with_model(MODEL),
    "platform": lambda builder: builder.with_platform(PLATFORM, [NO_BF16]),
    "peek": lambda builder: (builder.build(), builder)[1],
}


@seeded
@given(explicit())
@pytest.mark.filterwarnings("ignore::runtime.config.ConfigWarning")
def test_the_order_in_which_model_and_platform_become_known_does_not_matter(stated: dict[str, object]) -> None:
    results = []
    for order in itertools.permutations(STEPS):
        builder = ConfigBuilder(stated, {"V100_BLOCK_SIZE": "32"})
        for step in order:
            builder = STEPS[step](builder)
        results.append(builder.build())
    assert all(result == results[0] for result in results)


@seeded
@given(explicit())
def test_every_explicit_value_that_says_something_is_the_effective_one(stated: dict[str, object]) -> None:
    effective = flatten(resolve(stated, {}, platform=PLATFORM, model=MODEL).config)
    for path, value in stated.items():
        if value not in (None, "auto"):
            assert effective[path] == value


OVERRIDES = (
    Override("model.dtype", lambda config: config.model.dtype != "float16", "float16", "a", "card"),
    Override("cache.codec", lambda config: config.cache.codec == "fp16", "fp8_e4m3", "b", "card"),
    Override("cache.block_size", lambda config: config.cache.codec == "fp8_e4m3", 32, "c", "engine"),
    Override("cache.prefix_caching", lambda config: config.cache.block_size == 32, False, "d", "engine"),
)


@seeded
@given(st.permutations(OVERRIDES), explicit())
@pytest.mark.filterwarnings("ignore::runtime.config.ConfigWarning")
def test_overrides_win_over_everything_in_any_order(order: list[Override], stated: dict[str, object]) -> None:
    resolved = resolve(stated, {}, safety=order)
    assert not any(
        override.when(resolved.config) and flatten(resolved.config)[override.owner_path] != override.value
        for override in OVERRIDES
    )
    assert resolved == resolve(stated, {}, safety=OVERRIDES)


def test_an_override_that_triggers_another_is_followed_to_the_end() -> None:
    resolved = resolve({}, {}, safety=OVERRIDES)
    assert (resolved.config.cache.codec, resolved.config.cache.block_size) == ("fp8_e4m3", 32)
    assert resolved.config.cache.prefix_caching is False
    assert resolved.provenance["cache.prefix_caching"].chosen.origin == "engine"


def test_overrides_that_demand_two_values_at_once_are_an_error() -> None:
    both = [Override("cache.block_size", lambda _: True, size, "x", "card") for size in (32, 64)]
    with pytest.raises(ConfigError, match=r"cache\.block_size.*64 and 32"):
        resolve({}, {}, safety=both)


def test_overrides_that_undo_each_other_are_an_error_and_no_endless_loop() -> None:
    flip = [
        Override("cache.block_size", lambda config: config.cache.block_size == 16, 32, "x", "card"),
        Override("cache.block_size", lambda config: config.cache.block_size == 32, 16, "y", "card"),
    ]
    with pytest.raises(ConfigError, match=r"contradict each other on cache\.block_size"):
        resolve({}, {}, safety=flip)


def test_a_short_name_is_its_owner_path_where_it_is_the_only_one() -> None:
    assert owner_path("block_size") == "cache.block_size"
    assert resolve({"block_size": 64}, {}).config.cache.block_size == 64


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("cache.blok_size", r"did you mean cache\.block_size"),
        ("blok_size", r"did you mean block_size"),
        ("zzz", r"v100 explain --config"),
    ],
)
def test_an_unknown_setting_is_an_error_with_the_nearest_name(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: unknown setting; .*{remedy}"):
        resolve({name: 1}, {})


def test_a_setting_that_is_stated_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"cache\.block_size: stated twice, also as block_size"):
        resolve({"cache.block_size": 16, "block_size": 32}, {})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cache.zzz": (1, "x")}, r"cache\.zzz \(default of model family\): unknown setting"),
        ({"model.dtype": ("int8", "x")}, r"model\.dtype \(default of model family\): 'int8' is not valid"),
    ],
)
def test_defaults_are_checked_and_their_author_is_named(values: dict[str, tuple[object, str]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve({}, {}, model=Defaults("family", values))


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"block_size": 24}, r"cache\.block_size: 24 is not a power of two; use 16 or 32"),
        (
            {"max_num_batched_tokens": 8, "max_num_seqs": 9, "chunked_prefill": False},
            r"max_num_batched_tokens: 8 is below scheduler\.max_num_seqs = 9",
        ),
        (
            {"max_num_batched_tokens": 99, "max_model_len": 100, "chunked_prefill": False},
            r"max_num_batched_tokens: 99 is below model\.max_model_len = 100",
        ),
        ({"tensor_parallel_size": 2}, r"parallel\.tensor_parallel_size: 2 is not supported yet"),
        ({"num_draft_tokens": 3}, r"speculative\.num_draft_tokens: 3 is not supported yet"),
        ({"batch_sizes": [2, 1]}, r"graphs\.batch_sizes: \(2, 1\) must be ascending"),
    ],
)
def test_rules_between_settings(stated: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(stated, {})


def test_all_broken_rules_are_named_at_once() -> None:
    with pytest.raises(ConfigError, match=r"block_size[^\0]*num_draft_tokens"):
        resolve({"block_size": 3, "num_draft_tokens": 1}, {})


def test_chunked_prefill_needs_no_budget_for_everybody() -> None:
    assert resolve({"max_num_batched_tokens": 8, "max_num_seqs": 9, "max_model_len": 100}, {}).config.scheduler


@seeded
@given(st.data())
def test_a_resolved_configuration_cannot_be_changed(data: st.DataObject) -> None:
    resolved = resolve({}, {})
    path = data.draw(st.sampled_from(sorted(FIELDS)))
    group, name = path.split(".")
    with pytest.raises(FrozenInstanceError):
        setattr(getattr(resolved.config, group), name, data.draw(valid(FIELDS[path])))
    with pytest.raises(TypeError):
        resolved.provenance[path] = resolved.provenance[path]  # type: ignore[index]


def test_two_engines_in_one_process_share_nothing() -> None:
    first, second = resolve({"block_size": 8}, {}), resolve({}, {"V100_BLOCK_SIZE": "64"})
    assert (first.config.cache.block_size, second.config.cache.block_size) == (8, 64)
    assert RuntimeConfig().cache.block_size == 16
