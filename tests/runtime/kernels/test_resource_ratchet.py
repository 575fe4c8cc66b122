"""The verdict on what kernels need, and the record that it is held against; nothing is compiled here."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from runtime.errors import CompilationError, KernelError
from runtime.kernels.resources import measuring
from runtime.kernels.resources.baseline import Baseline, Record, read_baseline, write_baseline
from runtime.kernels.resources.measuring import KernelResources
from runtime.kernels.resources.ratchet import Verdict, judge, updated
from runtime.kernels.variants import TritonVariant
from runtime.platforms.chips import V100

NEEDS = KernelResources(registers=64, spilled_bytes=0, shared_bytes=1024, occupancy=0.5, tensor_core_instructions=0)
RECORD = Record(registers=64, spilled_bytes=0, shared_bytes=1024, occupancy=0.5, tensor_core_instructions=0)
COMPILERS = {"triton": "3.6.0"}
BASELINE = Baseline("sm70", COMPILERS, {"sum": RECORD})
PLAIN = TritonVariant(name="sum", module="", function="", signature={}, constexprs={})


def verdict_on(
    needs: KernelResources | CompilationError,
    baseline: Baseline = BASELINE,
    variant: TritonVariant = PLAIN,
    version: str = "3.6.0",
) -> Verdict:
    return judge([variant], {"sum": needs}, baseline, {"triton": version}, V100, list(baseline.records))


def test_what_is_as_recorded_passes() -> None:
    verdict = verdict_on(NEEDS)
    assert ([each.status for each in verdict.findings], verdict.exit_status) == (["same"], 0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"registers": 65}, "65 registers, recorded 64"),
        ({"shared_bytes": 1025}, "1025 bytes of shared memory, recorded 1024"),
        ({"occupancy": 0.375}, "62.5 % of the warps left idle, recorded 50"),
        # What is won elsewhere pays for nothing.
        ({"registers": 65, "shared_bytes": 0}, "65 registers, recorded 64"),
    ],
)
def test_what_is_worse_fails(change: dict[str, float], told: str) -> None:
    verdict = verdict_on(replace(NEEDS, **change))
    assert verdict.exit_status == 1
    assert [(each.status, each.reasons) for each in verdict.findings] == [("worse", (told,))]


def test_what_another_compiler_makes_worse_is_for_a_person_to_decide() -> None:
    verdict = verdict_on(replace(NEEDS, registers=65), version="3.7.0")
    assert verdict.exit_status == 3
    assert verdict.other_compilers == ("triton 3.6.0 -> 3.7.0",)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"spilled_bytes": 8}, "8 bytes of registers are spilled"),
        ({"registers": 256}, "a thread has 255"),
        ({"shared_bytes": 98305}, "a block has 98304"),
        ({"occupancy": 0.0}, "cannot be launched"),
        ({"foreign_instructions": (".bf16",)}, "does not have: .bf16"),
        ({"tensor_core_instructions": 4}, "does not declare"),
    ],
)
def test_limits_hold_whatever_is_recorded(change: dict[str, float], told: str) -> None:
    needs = replace(NEEDS, **change)
    recorded = {name: value for name, value in asdict(needs).items() if name != "foreign_instructions"}
    verdict = verdict_on(needs, Baseline("sm70", COMPILERS, {"sum": Record(**recorded)}))
    assert verdict.exit_status == 1
    assert verdict.findings[0].status == "broken"
    assert told in verdict.findings[0].reasons[0]


def test_declared_tensor_cores_must_be_used() -> None:
    verdict = verdict_on(NEEDS, variant=replace(PLAIN, tensor_cores=True))
    assert "no tensor core instruction" in verdict.findings[0].reasons[0]


def test_what_does_not_compile_is_broken() -> None:
    verdict = verdict_on(CompilationError("does not compile: a reason"))
    assert (verdict.exit_status, verdict.findings[0].reasons) == (1, ("does not compile: a reason",))


@pytest.mark.parametrize("failure", [KernelError("there is no disassembler"), OSError(28, "No space left on device")])
def test_what_the_machine_lacks_is_raised_and_judges_no_kernel(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise failure

    monkeypatch.setattr(measuring, "measure", fail)
    with pytest.raises(type(failure)):
        list(measuring.measure_all([PLAIN], V100, tmp_path, 1))


def test_what_is_not_recorded_fails_until_it_is() -> None:
    empty = Baseline("sm70")
    verdict = verdict_on(NEEDS, empty)
    assert verdict.exit_status == 1
    assert updated(verdict, empty, COMPILERS, {}) == BASELINE


def test_what_is_gone_passes_and_is_removed() -> None:
    baseline = Baseline("sm70", COMPILERS, {"gone": RECORD, "sum": RECORD})
    verdict = verdict_on(NEEDS, baseline)
    assert (verdict.gone, verdict.exit_status) == (("gone",), 0)
    assert updated(verdict, baseline, COMPILERS, {}) == BASELINE


def test_an_update_locks_in_what_is_better() -> None:
    verdict = verdict_on(replace(NEEDS, registers=32))
    assert verdict.exit_status == 0
    assert updated(verdict, BASELINE, COMPILERS, {}).records == {"sum": replace(RECORD, registers=32)}


def test_an_update_refuses_what_is_worse_and_keeps_the_compiler_it_was_recorded_with() -> None:
    verdict = verdict_on(replace(NEEDS, registers=65), version="3.7.0")
    assert updated(verdict, BASELINE, {"triton": "3.7.0"}, {}) == BASELINE


def test_what_is_worse_can_be_accepted_for_a_reason_until_it_is_better() -> None:
    accepted = updated(verdict_on(replace(NEEDS, registers=65)), BASELINE, COMPILERS, {"sum": "a second row"})
    assert accepted.records == {"sum": replace(RECORD, registers=65, accepted="a second row")}
    assert updated(verdict_on(NEEDS, accepted), accepted, COMPILERS, {}) == BASELINE


def test_nothing_broken_is_recorded() -> None:
    verdict = verdict_on(replace(NEEDS, spilled_bytes=8), Baseline("sm70"))
    assert updated(verdict, Baseline("sm70"), COMPILERS, {"sum": "a reason"}).records == {}


def test_a_file_holds_a_baseline_in_a_line_a_kernel(tmp_path: Path) -> None:
    baseline = Baseline("sm70", COMPILERS, {"b": replace(RECORD, accepted="why"), "a[x]": RECORD})
    path = tmp_path / "folder/kernels.json"
    write_baseline(path, baseline)
    assert read_baseline(path, "sm70") == baseline
    assert [line[:15] for line in path.read_text().splitlines()[1:-1]] == ['{"name": "a[x]"', '{"name": "b", "']
    assert [each.name for each in path.parent.iterdir()] == ["kernels.json"]


def test_a_missing_file_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"none\.json: there is no such record of kernels; .*--baseline.*--update"):
        read_baseline(tmp_path / "none.json", "sm70")


def stored(**fields: object) -> str:
    entry = {"name": "sum", **asdict(RECORD)}
    baseline = {"version": 1, "platform": "sm70", "compilers": {}, "kernels": [entry]}
    return json.dumps({**baseline, **fields})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("\udcff", "no text in UTF-8: byte 0"),
        ("[]", "no baseline of kernels in version 1: Expected `object`, got `array`"),
        (stored(version=2), "no baseline of kernels in version 1: Invalid enum value 2"),
        (stored(version=True), "Expected `int`, got `bool`"),
        (stored(compilers=None), r"Expected `object`, got `null` - at `\$\.compilers`"),
        (stored(kernels=[{"name": "a"}]), r"missing required field `registers` - at `\$\.kernels\[0\]`"),
        (stored(kernels=[{"name": "a", **asdict(RECORD), "registers": "8"}]), r"got `str` - at `.*\.registers`"),
        (stored(kernels=[{"name": "a", **asdict(RECORD)}] * 2), "names the kernel a twice"),
        (stored(more=1), "unknown field `more`"),
        (stored(platform="sm80"), "is about 'sm80', not 'sm70'"),
    ],
)
def test_another_file_is_an_error_that_names_it_and_the_place(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "kernels.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(KernelError, match=rf"kernels\.json.*{told}"):
        read_baseline(path, "sm70")
