"""`v100 kernels check` and `roofline`, with a compiler that answers at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import Result
from v100_types import V100, Python

from benchmarks.requantize import write_checkpoint
from benchmarks.weight_recipes import recipe
from runtime.errors import CompilationError, KernelError
from runtime.kernels.resources import catalogue, measuring
from runtime.kernels.resources.measuring import KernelResources
from runtime.kernels.variants import TritonVariant
from runtime.models.checkpoint import open_checkpoint


class Compiler:
    """Kernels `sum[a]` and `sum[b]`, and what they need."""

    def __init__(self) -> None:
        self.version = "3.6.0"
        self.registers = {"sum[a]": 40, "sum[b]": 50}
        self.refused: set[str] = set()
        self.failure: Exception | None = None

    def variants(self) -> tuple[TritonVariant, ...]:
        return tuple(
            TritonVariant(name=name, module="", function="", signature={}, constexprs={}) for name in self.registers
        )

    def versions(self, variants: Sequence[TritonVariant]) -> dict[str, str]:
        return {"triton": self.version} if variants else {}

    def measure(
        self, variants: Sequence[TritonVariant], *_others: object
    ) -> Iterator[tuple[str, KernelResources | CompilationError]]:
        if self.failure is not None:
            raise self.failure
        for variant in variants:
            if variant.name in self.refused:
                yield variant.name, CompilationError("does not compile: a reason")
                continue
            yield (
                variant.name,
                KernelResources(
                    registers=self.registers[variant.name],
                    spilled_bytes=0,
                    shared_bytes=0,
                    occupancy=0.5,
                    tensor_core_instructions=0,
                ),
            )


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    compiler = Compiler()
    monkeypatch.setattr(catalogue, "all_variants", compiler.variants)
    monkeypatch.setattr(measuring, "compilers", compiler.versions)
    monkeypatch.setattr(measuring, "measure_all", compiler.measure)
    return compiler


@pytest.fixture
def check(compiler: Compiler, v100: V100, tmp_path: Path) -> V100:
    """Run the check on a record of both kernels."""

    def run(*arguments: str) -> Result:
        return v100("kernels", "check", "--baseline", str(tmp_path / "record.json"), *arguments)

    assert run("--update").exit_code == 0
    return run


def test_kernels_that_are_as_recorded(check: V100) -> None:
    result = check()
    assert (result.exit_code, result.stdout) == (0, "2 kernels (triton 3.6.0): as recorded\n")


def test_a_kernel_that_is_worse_stays_refused_until_it_is_accepted(check: V100, compiler: Compiler) -> None:
    compiler.registers["sum[a]"] = 41
    refused = check("--update")
    assert refused.exit_code == 1
    assert "worse: sum[a]: 41 registers, recorded 40" in refused.stdout
    assert check().exit_code == 1
    assert check("--update", "--accept", "sum[a]", "--reason", "a bias").exit_code == 0
    assert check().exit_code == 0
    compiler.registers["sum[a]"] = 42
    assert "accepted before: a bias" in check().stdout


def test_another_compiler_leaves_it_to_a_person(check: V100, compiler: Compiler) -> None:
    compiler.registers["sum[a]"], compiler.version = 41, "3.7.0"
    result = check()
    assert result.exit_code == 3
    assert "another compiler than the record's: triton 3.6.0 -> 3.7.0" in result.stdout
    partly = check("--update", "--only", "sum[b]")
    assert partly.exit_code == 2
    assert "without --only" in partly.stderr


def test_a_kernel_that_does_not_compile_is_named_once(check: V100, compiler: Compiler) -> None:
    compiler.refused = {"sum[a]"}
    result = check()
    assert (result.exit_code, result.stdout.splitlines()[0]) == (1, "broken: sum[a]: does not compile: a reason")


@pytest.mark.parametrize(
    "failure", [KernelError("cuobjdump: it is not there"), OSError(28, "No space left on device", "/tmp/a")]
)
def test_what_the_machine_lacks_is_no_finding(check: V100, compiler: Compiler, failure: Exception) -> None:
    compiler.failure = failure
    result = check()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


def test_a_cache_that_cannot_be_written_is_named_with_its_option(check: V100, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = check("--cache", str(tmp_path / "file"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert f"{tmp_path / 'file'}: kernels are compiled into this folder" in result.stderr
    assert "name another with --cache" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("--baseline", "nowhere.json")])
def test_without_a_record_nothing_is_judged(
    compiler: Compiler, v100: V100, tmp_path: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = v100("kernels", "check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert (arguments or ("", "baselines/kernels_sm70.json"))[1] in result.stderr
    assert "--update" in result.stderr
    assert v100("kernels", "check", *arguments, "--update").exit_code == 0
    assert v100("kernels", "check", *arguments).exit_code == 0


def test_a_pattern_means_its_brackets(check: V100, compiler: Compiler) -> None:
    compiler.registers["sum[a]"] = 41
    assert check("--only", "sum[b]").exit_code == 0
    assert check("--only", "*a]").exit_code == 1


def test_a_kernel_that_is_gone_is_told_and_pruned(check: V100, compiler: Compiler) -> None:
    del compiler.registers["sum[b]"]
    result = check()
    assert (result.exit_code, "gone: sum[b]" in result.stdout) == (0, True)
    assert "gone" not in check("--update").stdout
    assert "gone" not in check().stdout


def test_json_has_every_kernel(check: V100) -> None:
    data = json.loads(check("--format", "json").stdout)
    assert [(each["name"], each["status"], each["registers"]) for each in data["kernels"]] == [
        ("sum[a]", "same", 40),
        ("sum[b]", "same", 50),
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--accept", "sum[a]"), "needs --update and --reason"),
        (("--reason", "x"), "needs --accept"),
        (("--update", "--accept", "sum[a]", "--reason", "x"), "not worse than its record; no kernel is"),
        (("--only", "none*"), "no kernel is called that"),
        (("--jobs", "0"), "--jobs"),
    ],
)
def test_what_cannot_be_meant(check: V100, arguments: tuple[str, ...], told: str) -> None:
    result = check(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_without_triton_a_line_says_how_to_get_it(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.platforms.packages.find_spec", lambda _name: None)
    result = v100("kernels", "check")
    assert result.exit_code == 2
    assert "pip install triton==3.6.0" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_roofline_of_the_model_that_is_named(v100: V100, tiny_model: Path) -> None:
    result = v100("kernels", "roofline", "-m", str(tiny_model), "--context", "20", "--prefill", "16")
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if line.endswith(("context of 20", "context of 16"))] == [
        "decode: 1 x 1 tokens at a context of 20",
        "prefill: 1 x 16 tokens at a context of 16",
    ]


def test_the_roofline_as_json_adds_up(v100: V100, tiny_model: Path) -> None:
    result = v100("kernels", "roofline", "-m", str(tiny_model), "--batch", "3", "--json")
    step = json.loads(result.stdout)["steps"]["decode"]
    moved = sum(each["calls"] * (each["read"] + each["written"]) for each in step["operations"])
    assert step["totals"]["bytes"] == moved
    seconds = sum(each["seconds"] for each in step["operations"])
    assert step["totals"]["tokens_per_second"] == pytest.approx(3 / seconds)


@pytest.fixture
def quantised(tiny_model: Path, tmp_path: Path) -> Path:
    """The tiny model in INT8, as a folder."""
    write_checkpoint(open_checkpoint(tiny_model), recipe("int8"), tmp_path)
    return tmp_path


def products(result: Result) -> dict[str, tuple[str, int]]:
    """The format of each product of a decode step, and the bytes that all its calls read."""
    assert result.exit_code == 0, result.output
    operations = json.loads(result.stdout)["steps"]["decode"]["operations"]
    return {each["for"]: (each["format"], each["calls"] * each["read"]) for each in operations if each["format"]}


def test_the_roofline_reads_weights_in_the_formats_of_the_file(v100: V100, quantised: Path) -> None:
    arguments = ("kernels", "roofline", "--model", str(quantised), "--json")
    own, dense = products(v100(*arguments)), products(v100(*arguments, "--format", "dense"))
    assert {form for form, _ in own.values()} == {"int8", "dense"}
    assert {form for form, _ in dense.values()} == {"dense"}
    assert own["head"] == dense["head"]
    # A code for each weight of down [32, 64] and a scale for each output, against two bytes a weight.
    assert dense["down"][1] - own["down"][1] == 2 * 32 * (2 * 64 - (64 + 2))
    assert "weights as the file has them: int8, dense" in v100(*arguments[:-1]).stdout


def test_the_roofline_as_if_in_another_format(v100: V100, quantised: Path) -> None:
    result = v100("kernels", "roofline", "--model", str(quantised), "--format", "gguf_q4_k")
    assert "llama, weights gguf_q4_k; cache" in result.stdout
    assert "held in float16: down: 64 inputs are no multiple of 256, which gguf_q4_k needs" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--context", "4097"), "--context 4097: the model was made for at most 4096 tokens"),
        (("--prefill", "4097"), "--prefill 4097: the model was made for at most 4096 tokens"),
        (("--prefill", "99999999", "--batch", "1000000000000000"), "--batch"),
        (("--context", "99999999999999999999"), "--context"),
        (("--format", "gguf_q4k"), "did you mean 'gguf_q4_k'"),
    ],
)
def test_a_step_that_cannot_be_is_refused(v100: V100, tiny_model: Path, arguments: tuple[str, ...], told: str) -> None:
    result = v100("kernels", "roofline", "--model", str(tiny_model), *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_cache_that_the_chip_does_not_run_is_replaced_and_told(v100: V100, tiny_model: Path) -> None:
    result = v100("kernels", "roofline", "--model", str(tiny_model), "--codec", "bf16")
    assert result.exit_code == 0
    assert "cache fp16" in result.stdout
    assert "'bf16' was asked for, 'fp16' is used (sm70)" in result.stderr


def test_help_needs_no_torch(python: Python) -> None:
    code = "import sys; from runtime.cli import cli; cli(['kernels', '--help'], standalone_mode=False)"
    assert python(f"{code}; assert 'torch' not in sys.modules").returncode == 0
