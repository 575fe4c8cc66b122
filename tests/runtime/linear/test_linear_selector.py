"""The table of providers is sound, and the selector answers with a choice and every refusal."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from runtime.config.schema import KernelsConfig
from runtime.errors import RouteError
from runtime.formats.weights.declarations import WEIGHT_FORMATS
from runtime.linear.declarations import LINEAR_SPECS
from runtime.linear.executors import EXECUTORS
from runtime.linear.selector import PROVIDERS, LinearPlan, explain_linear, row_class
from runtime.platforms.declarations import PLATFORM_SPECS
from runtime.platforms.packages import TRITON

PACKED = LinearPlan(
    rows=1,
    inputs=4096,
    outputs=4096,
    format="awq_int4",
    dtype="float16",
    platform="sm70",
)
DENSE = replace(PACKED, format="dense")
NO_TRITON = (("triton", "there is none"),)
ROWS = (0, 1, 2, 7, 8, 9, 10, 512)
PLANS = [
    replace(PACKED, rows=rows, inputs=inputs, format=form, dtype=dtype, platform=platform, missing=missing)
    for rows, inputs, form, dtype, platform, missing in product(
        ROWS,
        (16, 24, 4096),
        ("dense", *(spec.name for spec in WEIGHT_FORMATS)),
        ("float16", "float32"),
        ("sm70", "cuda", "cpu"),
        ((), NO_TRITON),
    )
]


def chosen(plan: LinearPlan, forced: str = "auto") -> str:
    return PROVIDERS.select(plan, forced).spec.name


def test_every_provider_has_an_executor() -> None:
    assert [spec.name for spec in LINEAR_SPECS] == list(EXECUTORS)


def test_the_table_names_only_platforms_that_are_declared() -> None:
    assert {name for spec in LINEAR_SPECS for name in spec.platforms} <= {spec.name for spec in PLATFORM_SPECS}


def test_what_providers_require_is_looked_for() -> None:
    assert {package for spec in LINEAR_SPECS for package in spec.requires} == {TRITON.module}


def test_every_chain_of_fallbacks_ends_in_a_provider_that_takes_everything() -> None:
    places = {spec.name: place for place, spec in enumerate(LINEAR_SPECS)}
    for place, spec in enumerate(LINEAR_SPECS):
        if spec.fallback is None:
            assert all(PROVIDERS.refusal(spec, plan) is None for plan in PLANS)
        else:
            assert places[spec.fallback] > place
            assert LINEAR_SPECS[places[spec.fallback]].weights in ("any", spec.weights)


@pytest.mark.parametrize(
    ("rows", "packed", "dense"),
    [
        (0, "empty", "empty"),
        (1, "triton_gemv", "triton_gemv_dense"),
        (8, "triton_gemv", "triton_gemv_dense"),
        (9, "dequantize_cublas", "cublas_fp16"),
        (4096, "dequantize_cublas", "cublas_fp16"),
    ],
)
def test_on_the_card_rows_decide_at_the_declared_limits(rows: int, packed: str, dense: str) -> None:
    assert (chosen(replace(PACKED, rows=rows)), chosen(replace(DENSE, rows=rows))) == (packed, dense)


@pytest.mark.parametrize(
    ("plan", "provider", "reasons"),
    [
        (
            replace(PACKED, rows=9),
            "dequantize_cublas",
            {"triton_gemv": "takes at most 8 rows, not 9"},
        ),
        (
            replace(PACKED, inputs=24),
            "reference",
            {
                "triton_gemv": "takes inputs by 16, and there are 24",
                "dequantize_cublas": "takes inputs by 16, and there are 24",
            },
        ),
        (
            replace(DENSE, missing=NO_TRITON),
            "cublas_fp16",
            {"triton_gemv_dense": "needs triton: there is none"},
        ),
        (
            replace(PACKED, dtype="float32", rows=300),
            "reference",
            {
                "triton_gemv": "computes in float16, not in float32",
                "dequantize_cublas": "computes in float16, not in float32",
            },
        ),
        (
            replace(DENSE, platform="cpu"),
            "reference",
            {
                "triton_gemv_dense": "runs on sm70 or cuda, not on cpu",
                "cublas_fp16": "runs on sm70 or cuda, not on cpu",
            },
        ),
    ],
)
def test_every_better_provider_says_why_it_refused(plan: LinearPlan, provider: str, reasons: dict[str, str]) -> None:
    choice = PROVIDERS.select(plan)
    assert choice.spec.name == provider
    empty = {"empty": f"takes at most 0 rows, not {plan.rows}"} if provider == "reference" else {}
    assert dict(choice.refusals) == {**reasons, **empty}


def test_the_choice_depends_on_rows_only_through_their_class() -> None:
    for plan in PLANS[:: len(ROWS)]:
        by_class: dict[int, set[str]] = {}
        for rows in range(40):
            by_class.setdefault(row_class(rows), set()).add(chosen(replace(plan, rows=rows)))
        assert all(len(providers) == 1 for providers in by_class.values())


def test_every_product_has_a_provider_that_takes_it_and_none_before_it_does() -> None:
    for plan in PLANS:
        choice = PROVIDERS.select(plan)
        assert PROVIDERS.refusal(choice.spec, plan) is None
        before = LINEAR_SPECS[: LINEAR_SPECS.index(choice.spec)]
        assert all(PROVIDERS.refusal(spec, plan) is not None for spec in before)


def test_explanations_agree_with_the_choice() -> None:
    for plan in PLANS:
        explanation = explain_linear(plan, KernelsConfig())
        choice = PROVIDERS.select(plan)
        verdicts = {row.spec.name: row for row in explanation.admission}
        assert list(verdicts) == [spec.name for spec in LINEAR_SPECS]
        assert [name for name, row in verdicts.items() if row.verdict == "chosen"] == [choice.spec.name]
        assert all((verdicts[name].verdict, verdicts[name].reason) == ("refused", why) for name, why in choice.refusals)
        assert explanation.predicted == choice.spec.operators
        assert explanation.observed is None
        assert explanation.parameters["format"] == plan.format


@pytest.mark.parametrize(
    ("plan", "provider"),
    [(PACKED, "triton_gemv"), (replace(PACKED, rows=9), "dequantize_cublas"), (DENSE, "triton_gemv_dense")],
)
def test_a_forced_provider_binds_the_rows_and_the_weights_that_it_serves(plan: LinearPlan, provider: str) -> None:
    assert chosen(plan, "triton_gemv") == provider
    assert chosen(plan, "reference") == "reference"


def test_a_forced_provider_that_cannot_take_what_it_serves_is_an_error() -> None:
    with pytest.raises(RouteError, match=r"kernels\.linear: 'triton_gemv' was forced .*inputs by 16.*'auto'"):
        PROVIDERS.select(replace(PACKED, inputs=24), "triton_gemv")


@pytest.mark.parametrize(
    ("name", "hint"), [("triton_gem", "did you mean 'triton_gemv'"), ("x", "declared: auto, triton_gemv")]
)
def test_a_name_that_is_not_declared_is_told_what_is(name: str, hint: str) -> None:
    with pytest.raises(RouteError, match=hint):
        PROVIDERS.find(name)
