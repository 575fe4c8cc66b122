"""`v100 snapshot`: what the selectors choose, frozen, compared, held against traces and against the static plan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from v100_types import V100, Python

from analyzers.evidence.artifacts import read_artifact
from analyzers.evidence.kinds import Kind
from runtime.cli.snapshot.cells import (
    CATEGORIES,
    Cell,
    Outcome,
    attention_outcome,
    linear_outcome,
    outcomes,
)
from runtime.linear.selector import DENSE

ROOT = Path(__file__).parents[3]
PLAN = json.loads((ROOT / "baselines/routes/plan.json").read_text())["tables"]


def cell_of(name: str) -> dict[str, object]:
    """`stage=decode rows=[16, 17]` -> the cell."""

    def value(text: str) -> object:
        if text.startswith("["):
            return tuple(int(part) for part in text[1:-1].split(", ") if part)
        return {"true": True, "false": False}.get(text, int(text) if text.isdigit() else text)

    pairs = (part.split("=", 1) for part in re.split(r" (?=[^\s=]+=)", name))
    return {axis: value(text) for axis, text in pairs}


def linear_cell(cell: Mapping[str, object]) -> Cell:
    """The static plan knows two kinds of weights, the selectors every format."""
    return {**cell, "format": DENSE if cell["weights"] == "dense" else "gguf_q4_k"}


@pytest.mark.parametrize(
    ("table", "ask"),
    [("attention", attention_outcome), ("linear", lambda cell: linear_outcome(linear_cell(cell)))],
)
def test_the_selectors_choose_and_refuse_what_the_static_plan_says(table: str, ask: Callable[[Cell], Outcome]) -> None:
    chosen = {cell: ask(cell_of(cell)) for cell in PLAN[table]}
    planned = {cell: (row["route"], list(row.get("refused", {}))) for cell, row in PLAN[table].items()}
    assert {cell: (each.route, [name for name, _ in each.refused]) for cell, each in chosen.items()} == planned


def test_every_category_has_calls_that_are_taken_and_calls_that_fall_back() -> None:
    for category in CATEGORIES:
        cells = outcomes(category).values()
        assert any(not outcome.refused for outcome in cells)
        assert any(outcome.refused for outcome in cells)


@pytest.mark.parametrize("category", ["awq", "gptq", "int8", "fp8", "nvfp4", "mxfp4", "gguf", "kv"])
def test_what_a_format_or_a_platform_does_not_admit_is_rejected_with_the_reason(category: str) -> None:
    rejected = [outcome for outcome in outcomes(category).values() if outcome.route is None]
    assert rejected
    assert all(len(outcome.refused) == 1 and outcome.refused[0][1] for outcome in rejected)


def test_a_missing_package_sends_a_product_elsewhere_with_the_reason() -> None:
    cell = {"platform": "sm70", "rows": 1, "format": "gguf_q4_k"}
    with_it, without = linear_outcome(cell), linear_outcome({**cell, "packages": False})
    assert (with_it.route, with_it.runs) == ("triton_gemv", ("voltgate::gemv",))
    assert without.route == "reference"
    assert dict(without.refused)["triton_gemv"] == "needs triton: not here"


def test_missing_cuda_operators_send_attention_elsewhere_with_the_reason() -> None:
    cell = {"stage": "prefill", "platform": "sm70", "codec": "fp16", "rows": 16}
    assert attention_outcome(cell).runs == ("voltgate::flash_prefill",)
    without = attention_outcome({**cell, "missing": ("native",)})
    assert (without.route, without.runs) == ("library_prefill", ())
    assert dict(without.refused) == {"flash_prefill": "needs native: not here"}


def test_a_snapshot_is_the_same_every_time_and_nothing_has_changed(v100: V100, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for file in (first, second):
        assert v100("snapshot", "--category", "linear", "--category", "mxfp4", "--output", str(file)).exit_code == 0
    assert first.read_bytes() == second.read_bytes()
    result = v100("snapshot", "--category", "mxfp4", "--check", str(first))
    assert (result.exit_code, result.output) == (0, "64 cells: 0 changed, 0 changed as announced\n")


CELL = "platform=sm70 dtype=float16 rows=8 inputs=4096 packages=true"


@pytest.fixture
def older(v100: V100, tmp_path: Path) -> Path:
    """A snapshot of a time when a GEMV took up to seven rows, and had a cell that is gone."""
    file = tmp_path / "older.json"
    v100("snapshot", "--category", "linear", "--output", str(file))
    document = json.loads(file.read_text())
    cells = document["categories"]["linear"]
    cells[CELL] = {"route": "cublas_fp16", "refused": {"triton_gemv_dense": "takes at most 7 rows, not 8"}}
    cells["platform=sm60"] = {"route": "reference"}
    file.write_text(json.dumps(document))
    return file


def test_a_changed_choice_is_printed_and_fails(v100: V100, older: Path) -> None:
    result = v100("snapshot", "--category", "linear", "--check", str(older))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"linear: {CELL}: cublas_fp16 -> triton_gemv_dense",
        "linear: platform=sm60: reference -> no such cell",
        "120 cells: 2 changed, 0 changed as announced",
    ]


def announcement(**fields: object) -> dict[str, object]:
    return {"category": "linear", "where": {}, "was": "cublas_fp16", "now": "triton_gemv_dense", **fields}


GONE = announcement(where={"platform": "sm60"}, was="reference", now=None)


@pytest.mark.parametrize(
    ("announced", "status", "told"),
    [
        ([announcement(where={"rows": 8}), GONE], 0, "0 changed, 2 changed as announced"),
        ([announcement(where={"rows": 9}), GONE], 1, "linear: rows=9: announced, and nothing of the kind has changed"),
        ([announcement(now="reference"), GONE], 1, "1 changed, 1 changed as announced"),
        ([GONE], 1, f"{CELL}: cublas_fp16 -> triton_gemv_dense"),
    ],
)
def test_announced_changes_pass_and_those_that_do_not_come_fail(
    v100: V100, older: Path, tmp_path: Path, announced: list[object], status: int, told: str
) -> None:
    file = tmp_path / "expected.json"
    file.write_text(json.dumps(announced))
    result = v100("snapshot", "--category", "linear", "--check", str(older), "--expected-changes", str(file))
    assert result.exit_code == status
    assert told in result.output


def trace_of(platform: str, *operators: tuple[str, list[list[int]]]) -> str:
    rows = [{"name": name, "shapes": shapes} for name, shapes in operators]
    machine = {"device": "Tesla V100", "platform": platform}
    return json.dumps({"kind": "observed-dispatch", "version": 1, "machine": machine, "operators": rows})


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (trace_of("sm70", ("voltgate::gemv", [[8, 4096], [64, 2048]]), ("aten::mm", [[9, 9]])), None),
        (trace_of("sm70", ("voltgate::gemv_add", [[1, 64], [1, 4096], [64, 2048]])), None),
        (trace_of("sm70", ("voltgate::gemv", [[9, 4096], [64, 2048]])), "ran with 9 rows of 4096 inputs"),
        (trace_of("sm70", ("voltgate::gemv_add", [[8, 64], [8, 4100], [64, 2048]])), "8 rows of 4100 inputs"),
        (trace_of("cpu", ("voltgate::gemv", [[1, 4096]])), "no cell of these categories predicts it on cpu"),
        (trace_of("sm70", ("voltgate::flash_prefill", [[9, 8, 64]])), "no cell of these categories predicts it"),
        (trace_of("sm70", ("voltgate::gemm", [[1, 4096]])), "no such operator is declared"),
        (trace_of("sm70", ("voltgate::gemv", [[4096]])), "ran with the shapes [[4096]], which no product has"),
        (trace_of("sm70", ("voltgate::gemv_add", [[1, 64]])), "which no product has"),
    ],
)
def test_a_trace_that_saw_what_is_not_planned_fails(v100: V100, tmp_path: Path, trace: str, told: str | None) -> None:
    file = tmp_path / "trace.json"
    file.write_text(trace)
    arguments = ["--category", "linear", "--output", str(tmp_path / "snapshot.json"), "--observed-trace", str(file)]
    result = v100("snapshot", *arguments)
    assert result.exit_code == (0 if told is None else 1)
    assert (told or "1 native dispatches observed on sm70: 0 not as planned") in result.output


def test_a_run_is_traced_as_evidence_has_it_and_agrees_with_the_plan(v100: V100, tmp_path: Path) -> None:
    file, snapshot = tmp_path / "trace.json", tmp_path / "snapshot.json"
    assert v100("generate", "--raw", "--max-tokens", "2", "--trace", str(file), "ab").exit_code == 0
    assert read_artifact(file.read_bytes()).kind is Kind.OBSERVED
    trace = json.loads(file.read_text())
    assert trace["machine"] == {"device": "cpu", "platform": "cpu", "interpreted": False}
    assert trace["binary"]["kind"] == "none"
    assert {"name", "shapes", "dtypes", "count"} == set(trace["operators"][0])
    result = v100("snapshot", "--category", "all", "--output", str(snapshot), "--observed-trace", str(file))
    assert (result.exit_code, result.output) == (0, "0 native dispatches observed on cpu: 0 not as planned\n")


@pytest.mark.parametrize("place", ["/dev/full", "/proc/snapshot.json"])
def test_an_output_that_cannot_be_written_is_named(v100: V100, place: str) -> None:
    result = v100("snapshot", "--category", "mxfp4", "--output", place)
    assert result.exit_code == 2
    assert f"error: {place}: cannot be written: " in result.stderr


def snapshot_of(**fields: object) -> str:
    return json.dumps({"kind": "selector-snapshot", "version": 1, "categories": {}, **fields})


@pytest.mark.parametrize(
    ("option", "content", "told"),
    [
        ("--check", None, "cannot be read: No such file"),
        ("--check", "{", "not valid JSON"),
        ("--check", b"\xff\xfe", "no text in UTF-8: byte 0"),
        ("--check", '{"kind": "static-plan", "version": 1}', "no selector-snapshot in version 1"),
        ("--check", snapshot_of(version=True), "Expected `int`, got `bool`"),
        ("--check", snapshot_of(more=1), "unknown field `more`"),
        ("--check", snapshot_of(categories=None), "Expected `object`, got `null` - at `$.categories`"),
        ("--check", snapshot_of(categories={"linear": {"a": 1}}), "Expected `object`, got `int`"),
        ("--check", snapshot_of(categories={"awq": {"x": {"route": 3}}}), "Expected `str | null`, got `int`"),
        ("--check", snapshot_of(categories={"awq": {"x": {"route": "a", "refused": None}}}), "got `null`"),
        ("--check", snapshot_of(categories={"awq": {"x": {"route": "a", "ran": []}}}), "unknown field `ran`"),
        ("--observed-trace", "[]", "no observed dispatch in version 1"),
        ("--observed-trace", '{"kind": "observed-dispatch", "version": 1, "operators": []}', "v100 generate --trace"),
    ],
)
def test_a_file_that_is_something_else_is_named(
    v100: V100, tmp_path: Path, option: str, content: str | bytes | None, told: str
) -> None:
    file = tmp_path / "file.json"
    if content is not None:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    needed = [] if option == "--check" else ["--output", str(tmp_path / "snapshot.json")]
    result = v100("snapshot", "--category", "linear", option, str(file), *needed)
    assert result.exit_code == 2
    assert "file.json" in result.stderr
    assert told in result.stderr


@pytest.mark.parametrize(
    ("announced", "told"),
    [
        ("{}", "no list of announced changes: Expected `array`"),
        (json.dumps([{**announcement(), "why": "x"}]), "unknown field `why`"),
        (json.dumps([announcement(was=3)]), "Expected `str | null`, got `int` - at `$[0].was`"),
        (json.dumps([announcement(where={"rows": None})]), "at `$[0].where[...]`"),
        (
            json.dumps([announcement(category="liner")]),
            "change 1: no cell has the category 'liner'; did you mean 'linear'",
        ),
        (
            json.dumps([GONE, announcement(where={"row": 8})]),
            "change 2: where: no cell has the axis 'row'; did you mean 'rows'",
        ),
        (
            json.dumps([announcement(where={"rows": 7})]),
            "where: rows: no cell has the value '7'; known: 0, 1, 512, 8, 9",
        ),
    ],
)
def test_an_announcement_of_what_cannot_change_is_a_mistake(
    v100: V100, older: Path, tmp_path: Path, announced: str, told: str
) -> None:
    file = tmp_path / "expected.json"
    file.write_text(announced)
    result = v100("snapshot", "--category", "linear", "--check", str(older), "--expected-changes", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{file}: " in result.stderr
    assert told in result.stderr


@pytest.mark.parametrize("option", ["--observed-trace", "--expected-changes"])
def test_all_files_are_read_before_anything_is_said_or_written(
    v100: V100, older: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "bad.json").write_text("{")
    arguments = ["snapshot", "--category", "linear", option, str(tmp_path / "bad.json")]
    result = v100(*arguments, "--check", str(older))
    assert (result.exit_code, result.stdout) == (2, "")
    assert v100(*arguments, "--output", str(tmp_path / "new.json")).exit_code == 2
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "either --output or --check"),
        (("--output", "a", "--check", "b"), "either --output or --check"),
        (("--output", "a", "--expected-changes", "b"), "--expected-changes goes with --check"),
        (("--expected-changes", "b"), "--expected-changes goes with --check"),
    ],
)
def test_options_that_do_not_fit_are_refused(v100: V100, arguments: tuple[str, ...], told: str) -> None:
    result = v100("snapshot", "--category", "linear", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_snapshot_needs_no_torch(python: Python, tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; sys.argv[0] = 'v100'\nfrom runtime.cli import main\nmain()"
    done = python(code, "snapshot", "--category", "all", "--output", str(tmp_path / "snapshot.json"))
    assert done.returncode == 0, done.stderr
