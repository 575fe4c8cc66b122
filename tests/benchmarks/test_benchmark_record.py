"""What a benchmark measured is written as the evidence gate takes it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from benchmarks.record import Figure, write_measurement
from gates.cli import cli


def test_the_gate_takes_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    figures = {"decode": Figure("ms", [3, 2.5]), "prefill": Figure("TFLOP/s", [1.0, 2.0])}
    write_measurement(path, "Tesla V100-SXM2-16GB", "make test-gpu", figures)
    written = json.loads(path.read_text())
    jsonschema.validate(written, json.loads(CliRunner().invoke(cli, ["schema", "measured-performance"]).output))
    assert (written["runs"], written["machine"]["device"]) == (2, "Tesla V100-SXM2-16GB")
    assert written["figures"]["decode"] == {"unit": "ms", "values": [3, 2.5]}


@pytest.mark.parametrize(
    "figures", [{}, {"a": Figure("s", [1.0]), "b": Figure("s", [1.0, 2.0])}], ids=["none", "uneven"]
)
def test_figures_of_different_runs_are_refused(figures: dict[str, Figure], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one value a run"):
        write_measurement(tmp_path / "measured.json", "cpu", "make bench", figures)


def test_a_round_of_several_answers_is_one_value() -> None:
    runtime_cpu = pytest.importorskip("benchmarks.runtime_cpu")
    bench = runtime_cpu.Bench(None, {})
    bench.series["one", "ours"].seconds += [1.0, 3.0, 5.0, 7.0]
    bench.series["batch", "ours"].seconds += [9.0, 8.0]
    found = runtime_cpu.figures(bench, 2)
    assert found == {"ours: one": Figure("s", [2.0, 6.0]), "ours: batch": Figure("s", [9.0, 8.0])}
