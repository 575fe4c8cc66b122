"""`v100 explain`: routes and settings, as the declarations have them; and `v100 bench`, whose figures must be sane."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from tiny_checkpoint import HEAD_DIM, HEADS, KV_HEADS
from v100_types import V100

from runtime.attention.declarations import ROUTE_SPECS

PLATFORMS = ["cpu", "sm70", "cuda"]


@pytest.fixture(autouse=True)
def no_model(environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("V100_MODEL")


def explained(done: Result) -> list[dict[str, Any]]:
    assert (done.exit_code, done.stderr) == (0, "")
    calls: list[dict[str, Any]] = json.loads(done.stdout)
    return calls


def test_every_stage_has_one_chosen_route_and_a_word_on_all_others(v100: V100) -> None:
    calls = explained(v100("explain", "--json"))

    assert [call["call"]["stage"] for call in calls] == ["decode", "verify", "mixed_decode", "prefill"]
    for call in calls:
        verdicts = {route["route"]: route for route in call["routes"]}
        assert list(verdicts) == [spec.name for spec in ROUTE_SPECS]
        assert [route["verdict"] for route in verdicts.values()].count("chosen") == 1
        assert all(route["reason"] for route in verdicts.values() if route["verdict"] != "chosen")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_table_and_the_json_say_the_same(v100: V100, platform: str) -> None:
    (call,) = explained(v100("explain", "--platform", platform, "--stage", "decode", "--json"))
    table = v100("explain", "--platform", platform, "--stage", "decode").stdout

    (chosen,) = (route["route"] for route in call["routes"] if route["verdict"] == "chosen")
    assert f"chosen      {chosen}" in table
    assert table.startswith(
        f"decode on {platform} in {call['call']['dtype']}: 32 query heads, 8 KV heads, head size 128"
    )


def test_the_shape_of_the_call_is_what_was_asked_for(v100: V100) -> None:
    (call,) = explained(
        v100("explain", "--stage", "prefill", "--heads", "6", "--kv-heads", "3", "--head-dim", "64", "--window", "512",
             "--softcap", "30", "--rows", "5", "--rows", "7", "--kv-codec", "fp8", "--json")
    )  # fmt: skip

    shape = call["call"]["shape"]
    assert (shape["num_heads"], shape["num_kv_heads"], shape["head_dim"]) == (6, 3, 64)
    assert (shape["window"], shape["softcap"], shape["scale"]) == (512, 30, 64**-0.5)
    assert (call["call"]["query_lens"], call["call"]["codec"]) == ([5, 7], "fp8_e4m3")


def test_a_model_brings_its_own_heads(v100: V100, tiny_model: object) -> None:
    (call,) = explained(v100("explain", "--model", str(tiny_model), "--stage", "decode", "--json"))

    shape = call["call"]["shape"]
    assert (shape["num_heads"], shape["num_kv_heads"], shape["head_dim"]) == (HEADS, KV_HEADS, HEAD_DIM)


def test_a_shape_beats_the_variable_for_the_model(
    v100: V100, tiny_model: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("V100_MODEL", str(tiny_model))

    (call,) = explained(v100("explain", "--heads", "64", "--stage", "decode", "--json"))

    assert call["call"]["shape"]["num_heads"] == 64


def test_a_forced_route_is_chosen(v100: V100) -> None:
    (call,) = explained(v100("explain", "--stage", "decode", "--set", "route=reference_attention", "--json"))

    assert {route["route"]: route["verdict"] for route in call["routes"]}["reference_attention"] == "chosen"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--set", "route=flash_decode", "--head-dim", "96"],
            "'flash_decode' was forced and cannot take this decode call",
        ),
        (["--set", "route=flash_decod"], "did you mean"),
        (["--heads", "7", "--kv-heads", "2"], "--heads 7 is no multiple of --kv-heads 2"),
        (["--heads", "7", "--model", "here"], "--model says what its heads are"),
        (["--heads", "0"], "0 is not in the range"),
    ],
)
def test_a_question_without_an_answer_ends_with_2(v100: V100, arguments: list[str], message: str) -> None:
    done = v100("explain", *arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_settings_come_with_where_they_come_from(
    v100: V100, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("V100_MAX_MODEL_LEN", "77")
    arguments = ("explain", "--config", "--platform", platform, "--set", "cache.block_size=32")

    settings = json.loads(v100(*arguments, "--json").stdout)["settings"]
    table = v100(*arguments).stdout

    sources = {path: (setting["value"], setting["source"]) for path, setting in settings.items()}
    assert sources["cache.block_size"] == (32, "explicit")
    assert sources["model.max_model_len"] == (77, "environment")
    assert sources["model.dtype"] == ("float32" if platform == "cpu" else "float16", "platform")
    assert all(f"  {path} " in table for path in settings)
    assert "environment V100_MAX_MODEL_LEN" in table


def test_bench_measures_every_number_of_requests(v100: V100, tiny_model: object) -> None:
    arguments = ("bench", "-m", str(tiny_model), "--prompt-tokens", "8", "--output-tokens", "4", "--runs", "2",
                 "--requests", "1", "--requests", "3")  # fmt: skip

    figures = json.loads(v100(*arguments, "--json").stdout)
    table = v100(*arguments)

    assert (figures["platform"], figures["dtype"], figures["cache"], figures["threads"]) == (
        "cpu",
        "float32",
        "fp32",
        1,
    )
    assert [figure["requests"] for figure in figures["rounds"]] == [1, 3]
    for figure in figures["rounds"]:
        assert figure["first_token_seconds"] > 0
        assert 0 < figure["output_tokens_per_second"] < figure["decode_tokens_per_second"] * 2
    assert (table.exit_code, table.stderr) == (0, "")
    assert "8 prompt and 4 output tokens, medians of 2" in table.stdout


def test_bench_refuses_what_does_not_fit(v100: V100, tiny_model: object) -> None:
    done = v100(
        "bench", "-m", str(tiny_model), "--max-model-len", "20", "--prompt-tokens", "16", "--output-tokens", "8"
    )

    assert (done.exit_code, done.stdout) == (1, "")
    assert "does not fit" in done.stderr
