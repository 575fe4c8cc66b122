"""`v100 explain --linear`: who multiplies with weights, as the declarations have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from v100_types import V100

from benchmarks.requantize import write_checkpoint
from benchmarks.weight_recipes import recipe
from runtime.config.schema import KernelsConfig
from runtime.linear.declarations import LINEAR_SPECS
from runtime.linear.selector import LinearPlan, explain_linear
from runtime.models.checkpoint import open_checkpoint
from runtime.platforms.packages import missing_packages


@pytest.fixture(autouse=True)
def no_model(environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("V100_MODEL")


def explained(done: Result) -> list[dict[str, Any]]:
    assert (done.exit_code, done.stderr) == (0, "")
    products: list[dict[str, Any]] = json.loads(done.stdout)
    return products


def test_the_product_is_what_was_asked_for_and_the_answer_is_the_selectors(v100: V100) -> None:
    (product,) = explained(
        v100("explain", "--linear", "--format", "nvfp4", "--inputs", "96", "--outputs", "48", "--rows", "7", "--json")
    )
    plan = LinearPlan(
        rows=7,
        inputs=96,
        outputs=48,
        format="nvfp4",
        dtype="float16",
        platform="sm70",
        missing=missing_packages(),
    )
    expected = explain_linear(plan, KernelsConfig())
    assert product["parameters"] == json.loads(json.dumps(expected.parameters))
    assert product["predicted"] == list(expected.predicted)
    assert product["observed"] is None
    assert [row["provider"] for row in product["admission"]] == [spec.name for spec in LINEAR_SPECS]


@pytest.mark.parametrize("platform", ["cpu", "sm70", "cuda"])
def test_the_table_and_the_json_say_the_same(v100: V100, platform: str) -> None:
    arguments = ("explain", "--linear", "--platform", platform, "--rows", "1")
    (product,) = explained(v100(*arguments, "--json"))
    table = v100(*arguments).stdout
    (chosen,) = (row["provider"] for row in product["admission"] if row["verdict"] == "chosen")
    assert f"chosen      {chosen}" in table
    assert f"runs        {', '.join(product['predicted'])}" in table
    assert "rows 1, inputs 4096, outputs 4096, weights dense" in table


def test_without_rows_both_sides_of_the_limits_are_shown(v100: V100) -> None:
    assert [product["parameters"]["rows"] for product in explained(v100("explain", "--linear", "--json"))] == [
        1,
        8,
        9,
        512,
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--format", "nvfp4"), "add --linear"),
        (("--linear", "--stage", "decode"), "say nothing of products"),
        (("--linear", "--heads", "8"), "say nothing of products"),
        (("--linear", "--format", "gguf_q4k"), "did you mean 'gguf_q4_k'"),
        (("--linear", "--rows", "99999999999999999999"), "--rows"),
        (("--linear", "--inputs", "99999999999999999999"), "--inputs"),
        (("--heads", "99999999999999999999"), "--heads"),
        (("--softcap", "nan"), "no finite number"),
        (("--softcap", "inf"), "no finite number"),
    ],
)
def test_what_cannot_be_meant_is_refused(v100: V100, arguments: tuple[str, ...], told: str) -> None:
    done = v100("explain", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_model_says_what_its_matrices_are(v100: V100, tiny_model: Path) -> None:
    done = v100("explain", "--linear", "--model", str(tiny_model), "--inputs", "64")
    assert done.exit_code == 2
    assert "leave out --outputs and --inputs" in done.stderr


@pytest.fixture
def quantised(tiny_model: Path, tmp_path: Path) -> Path:
    """The tiny model in INT8, as a folder."""
    write_checkpoint(open_checkpoint(tiny_model), recipe("int8"), tmp_path)
    return tmp_path


def kinds(products: list[dict[str, Any]]) -> list[tuple[str, dict[str, int], str]]:
    chosen = [next(row["provider"] for row in each["admission"] if row["verdict"] == "chosen") for each in products]
    return [
        (each["parameters"]["format"], each["matrices"], provider)
        for each, provider in zip(products, chosen, strict=True)
    ]


def test_a_model_is_planned_in_the_formats_of_its_file(v100: V100, quantised: Path) -> None:
    done = v100("explain", "--linear", "--model", str(quantised), "--rows", "1", "--json")
    assert kinds(explained(done)) == [
        ("int8", {"qkv": 2, "gate_up": 2}, "triton_gemv"),
        ("int8", {"output": 2, "down": 2}, "triton_gemv"),
        ("dense", {"head": 1}, "triton_gemv_dense"),
    ]


def test_a_platform_that_decodes_weights_once_plans_dense_ones(v100: V100, quantised: Path) -> None:
    done = v100("explain", "--linear", "--model", str(quantised), "--platform", "cpu", "--rows", "1", "--json")
    assert {form for form, _, _ in kinds(explained(done))} == {"dense"}


def test_a_format_that_is_stated_replaces_that_of_the_file(v100: V100, quantised: Path) -> None:
    arguments = ("explain", "--linear", "--model", str(quantised), "--rows", "1")
    done = v100(*arguments, "--format", "mxfp4", "--json")
    assert {form for form, _, _ in kinds(explained(done))} == {"mxfp4", "dense"}
    table = v100(*arguments, "--format", "gguf_q4_k").stdout
    assert "held in dense: qkv: 32 inputs are no multiple of 256, which gguf_q4_k needs" in table


def test_a_weight_that_its_format_cannot_hold_is_rejected_as_in_a_snapshot(v100: V100) -> None:
    arguments = ("explain", "--linear", "--format", "awq_int4", "--inputs", "100", "--rows", "1")
    reason = "100 inputs are no multiple of 8, which awq_int4 needs"
    assert f"  rejected    {reason}" in v100(*arguments).stdout
    (product,) = explained(v100(*arguments, "--json"))
    assert (product["rejected"], product["admission"], product["predicted"]) == (reason, [], [])


def test_a_forced_provider_is_judged(v100: V100) -> None:
    done = v100("explain", "--linear", "--platform", "cpu", "--set", "kernels.linear=cublas_fp16")
    assert done.exit_code == 2
    assert "kernels.linear: 'cublas_fp16' was forced" in done.stderr
