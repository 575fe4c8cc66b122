"""`v100 explain --linear`: who multiplies with weights, as the declarations have it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from runtime.config.schema import KernelsConfig
from runtime.linear.declarations import LINEAR_SPECS
from runtime.linear.selector import LinearPlan, explain_linear, installed_packages

V100 = Callable[..., Result]


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
        installed=installed_packages(),
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


def test_a_description_of_a_product_needs_the_flag(v100: V100) -> None:
    done = v100("explain", "--format", "nvfp4")
    assert done.exit_code == 2
    assert "add --linear" in done.stderr


def test_a_forced_provider_is_judged(v100: V100) -> None:
    done = v100("explain", "--linear", "--platform", "cpu", "--set", "kernels.linear=cublas_fp16")
    assert done.exit_code == 2
    assert "kernels.linear: 'cublas_fp16' was forced" in done.stderr
