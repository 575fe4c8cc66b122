"""The table of routes is sound, and the selector answers with a choice and every refusal."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from runtime.attention.declarations import OBSERVERS, ROUTE_SPECS, LayerShape, RouteSpec
from runtime.attention.executors import KERNELS
from runtime.attention.selector import NOT_BUILT, ROUTES, RouteContext, select
from runtime.errors import RouteError
from runtime.formats.kv.declarations import KV_CODECS
from runtime.platforms.declarations import PLATFORM_SPECS

SHAPE = LayerShape(num_heads=8, num_kv_heads=2, head_dim=128, scale=0.1)
ON_CARD = RouteContext("decode", "fp16", SHAPE, 16, (1,), "float16", "sm70")
ON_CPU = replace(ON_CARD, platform="cpu", dtype="float32", codec="fp32")
ODD = RouteContext(
    stage="prefill",
    codec="fp32",
    shape=LayerShape(num_heads=7, num_kv_heads=1, head_dim=40, scale=1.0, window=3, softcap=2.0),
    block_size=5,
    query_lens=(3, 11),
    dtype="bfloat16",
    platform="cuda",
    missing=(("native", "there is none"), ("triton", "there is none")),
)


def test_every_chain_of_fallbacks_ends_in_a_built_route_of_any_stage() -> None:
    places = {spec.name: place for place, spec in enumerate(ROUTE_SPECS)}
    assert len(places) == len(ROUTE_SPECS)
    for place, spec in enumerate(ROUTE_SPECS):
        if spec.fallback is None:
            assert (spec.stage, spec.implemented) == ("any", True)
            assert ROUTES.refusal(spec, ODD) is None
        else:
            assert places[spec.fallback] > place
            assert ROUTE_SPECS[places[spec.fallback]].stage in ("any", spec.stage)


def test_observers_are_counters_beside_the_routes() -> None:
    assert {spec.observer for spec in ROUTE_SPECS if spec.observer} <= set(OBSERVERS)
    assert not set(OBSERVERS) & {spec.name for spec in ROUTE_SPECS}


def test_every_built_route_has_a_kernel_and_no_other_has() -> None:
    assert {spec.name for spec in ROUTE_SPECS if spec.implemented} == set(KERNELS)


def test_the_table_names_only_codecs_and_platforms_that_are_declared() -> None:
    assert {codec for spec in ROUTE_SPECS for codec in spec.codecs} <= {spec.name for spec in KV_CODECS}
    assert {name for spec in ROUTE_SPECS for name in spec.platforms} <= {spec.name for spec in PLATFORM_SPECS}


def test_route_names_hold_no_format() -> None:
    formats = {word for spec in KV_CODECS for name in (spec.name, *spec.aliases) for word in name.split("_")}
    assert not formats & {word for spec in ROUTE_SPECS for word in spec.name.split("_")}


FULL = RouteSpec(
    name="full",
    stage="prefill",
    platforms=("sm70",),
    dtypes=("float16",),
    codecs=("fp16", "bf16"),
    head_dims=(64, 128),
    gqa_ratios=(4,),
    block_alignment=16,
    query_alignment=8,
    max_query=64,
    window=False,
    softcap=False,
)
TAKEN = replace(ON_CARD, stage="prefill", query_lens=(16, 64))


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (TAKEN, None),
        (replace(TAKEN, query_lens=()), None),
        (replace(TAKEN, stage="decode"), "serves prefill, not decode"),
        (replace(TAKEN, platform="cpu"), "runs on sm70, not on cpu"),
        (replace(TAKEN, dtype="float32"), "computes in float16, not in float32"),
        (replace(TAKEN, codec="fp32"), "reads fp16 or bf16, not fp32"),
        (replace(TAKEN, shape=replace(SHAPE, head_dim=256)), "takes heads of 64 or 128, not of 256"),
        (replace(TAKEN, shape=replace(SHAPE, num_heads=6)), "takes 4 query heads to a key head, not 3"),
        (replace(TAKEN, block_size=24), "needs a block size that is a multiple of 16, not 24"),
        (replace(TAKEN, shape=replace(SHAPE, window=512)), "cannot apply a sliding window"),
        (replace(TAKEN, shape=replace(SHAPE, softcap=30.0)), "cannot apply a soft cap"),
        (replace(TAKEN, query_lens=(8, 72)), "takes at most 64 rows of a request, not 72"),
        (replace(TAKEN, query_lens=(8, 20, 3)), "takes rows by 8, and a request has 20"),
    ],
)
def test_a_refusal_names_what_the_route_takes_and_what_it_got(context: RouteContext, reason: str | None) -> None:
    assert ROUTES.refusal(FULL, context) == reason


def test_a_missing_kernel_is_the_last_reason_to_refuse() -> None:
    planned = replace(FULL, implemented=False)
    assert ROUTES.refusal(planned, TAKEN) == NOT_BUILT
    assert ROUTES.refusal(planned, replace(TAKEN, query_lens=(7,))) == "takes rows by 8, and a request has 7"


@pytest.mark.parametrize("stage", ["decode", "verify", "mixed_decode", "prefill"])
@pytest.mark.parametrize("platform", ["sm70", "cpu", "cuda"])
def test_every_stage_has_a_route_on_every_platform(stage: str, platform: str) -> None:
    for codec in KV_CODECS:
        choice = select(replace(ODD, stage=stage, codec=codec.name, platform=platform))  # type: ignore[arg-type]
        assert choice.spec.implemented


def test_the_choice_comes_with_the_reason_of_every_candidate_before_it() -> None:
    choice = select(ON_CPU)
    assert choice.spec.name == "reference_decode"
    assert choice.refusals == (
        ("flash_decode_grouped", "runs on sm70, not on cpu"),
        ("flash_decode", "runs on sm70 or cuda, not on cpu"),
    )


CODECS_ON_CARD = ("fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head")


@pytest.mark.parametrize(
    ("stage", "lengths", "heads", "route"),
    [
        ("decode", (1, 1), 1, "flash_decode"),
        ("decode", (1, 1), 2, "flash_decode_grouped"),
        ("decode", (1, 1), 8, "flash_decode_grouped"),
        ("decode", (1, 1), 9, "flash_decode"),
        ("verify", (2, 16), 4, "flash_verify"),
        ("verify", (2, 17), 4, "reference_attention"),
        ("mixed_decode", (1, 16), 4, "flash_mixed_decode"),
        ("mixed_decode", (1, 17), 4, "reference_attention"),
        ("prefill", (1, 13, 4096), 9, "flash_prefill"),
    ],
)
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("codec", CODECS_ON_CARD)
def test_the_card_has_a_kernel_for_every_codec_and_stage(
    codec: str, head_dim: int, stage: str, lengths: tuple[int, ...], heads: int, route: str
) -> None:
    shape = LayerShape(num_heads=heads, num_kv_heads=1, head_dim=head_dim, scale=1.0, window=512, softcap=30.0)
    context = replace(ON_CARD, stage=stage, codec=codec, shape=shape, query_lens=lengths)
    assert select(context).spec.name == route


@pytest.mark.parametrize(
    ("missing", "stage", "route"),
    [
        ({"native"}, "decode", "flash_decode"),
        ({"native", "triton"}, "decode", "reference_decode"),
        ({"native"}, "prefill", "library_prefill"),
        ({"triton"}, "prefill", "flash_prefill"),
        ({"triton"}, "verify", "reference_attention"),
    ],
)
def test_what_is_missing_is_the_reason_of_the_fallback(missing: set[str], stage: str, route: str) -> None:
    context = replace(ON_CARD, stage=stage, missing=tuple((name, "there is none") for name in sorted(missing)))
    choice = select(context)
    assert choice.spec.name == route
    assert {reason for _, reason in choice.refusals} <= {f"needs {name}: there is none" for name in missing}


def test_explain_has_a_verdict_for_every_route() -> None:
    rows = {row.spec.name: (row.verdict, row.reason) for row in ROUTES.explain(ON_CPU)}
    assert list(rows) == [spec.name for spec in ROUTE_SPECS]
    assert rows["reference_decode"] == ("chosen", "")
    assert rows["reference_attention"] == ("not needed", "reference_decode is preferred")
    assert rows["flash_verify"] == ("refused", "serves verify, not decode")


def test_a_forced_route_runs_though_another_is_preferred() -> None:
    choice = select(ON_CPU, "reference_attention")
    assert (choice.spec.name, choice.refusals) == ("reference_attention", ())


def test_a_forced_route_binds_only_the_stages_that_it_serves() -> None:
    choice = select(replace(ON_CPU, stage="prefill", query_lens=(5,)), "reference_decode")
    assert choice.spec.name == "reference_attention"


def test_a_forced_route_that_cannot_take_the_call_is_an_error_with_the_reason() -> None:
    with pytest.raises(
        RouteError, match=r"'flash_decode' was forced and cannot .* decode call: runs on sm70 or cuda, not on cpu"
    ):
        select(ON_CPU, "flash_decode")


def test_an_undeclared_route_is_an_error_that_names_its_neighbours() -> None:
    with pytest.raises(RouteError, match="no route is called 'flash_decod'; did you mean 'flash_decode'"):
        select(ON_CPU, "flash_decod")
    with pytest.raises(RouteError, match="no route is called 'zzz'; declared: auto, flash_decode_grouped"):
        ROUTES.find("zzz")


def test_an_observer_is_no_route() -> None:
    with pytest.raises(RouteError, match="'reference' is an observer"):
        ROUTES.find("reference")


def test_declarations_and_selector_import_no_torch() -> None:
    modules = "runtime.attention.selector, runtime.formats.kv.declarations"
    program = f"import sys, {modules}; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
