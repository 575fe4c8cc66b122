"""Artifacts: which files are evidence, of what kind, and what they must say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from analyzers.evidence.artifacts import ArtifactError, parse_reference, read_artifact
from analyzers.evidence.kinds import Kind, kind_of
from gates.cli import cli

MEASURED: dict[str, Any] = {
    "kind": "measured-performance",
    "version": 1,
    "machine": {"device": "Tesla V100-SXM2-32GB", "driver": "570.1"},
    "command": "make bench",
    "runs": 2,
    "figures": {"decode": {"unit": "ms", "values": [1.9, 2]}},
}
OBSERVED: dict[str, Any] = {
    "kind": "observed-dispatch",
    "version": 1,
    "machine": {"device": "cpu", "interpreted": True},
    "operators": [{"name": "v100::decode"}],
}
HOUSE = Path(__file__).parents[3]


def written(document: object) -> bytes:
    return json.dumps(document).encode()


def test_each_kind_is_told_by_what_the_file_says_of_itself() -> None:
    measured, observed = read_artifact(written(MEASURED)), read_artifact(written(OBSERVED))
    assert measured.machine is not None
    assert observed.machine is not None

    assert (measured.kind, measured.machine.device) == (Kind.MEASURED, "Tesla V100-SXM2-32GB")
    assert (observed.kind, observed.machine.interpreted) == (Kind.OBSERVED, True)


def test_the_committed_snapshot_is_a_static_plan() -> None:
    artifact = read_artifact((HOUSE / "baselines/routes/plan.json").read_bytes())

    assert artifact == (Kind.PLAN, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no `kind`"),
        (written({**MEASURED, "kind": "benchmark"}), "no `kind`"),
        (written({**MEASURED, "kind": []}), "no `kind`"),
        (written({**MEASURED, "version": 2}), "`version`"),
        (written({**MEASURED, "machine": {}}), "`machine.device`"),
        (written({**MEASURED, "machine": {"device": ""}}), "`machine.device`"),
        (written({**MEASURED, "command": None}), "`command`"),
        (written({**MEASURED, "runs": 3}), "'decode' has 2 values for 3 runs"),
        (written({**MEASURED, "runs": "2"}), "`runs`"),
        (written({**MEASURED, "figures": {}}), "`figures`"),
        (written({**MEASURED, "figures": {"decode": {"unit": "ms", "values": [1, float("nan")]}}}), "finite"),
        (written({**OBSERVED, "operators": []}), "`operators`"),
        (written({"kind": "static-plan", "version": 1}), "snapshot"),
    ],
)
def test_what_lacks_something_is_refused_with_its_name(content: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        read_artifact(content)


@pytest.mark.parametrize("document", [MEASURED, OBSERVED])
def test_the_schema_takes_what_is_read_and_demands_what_is_demanded(document: dict[str, Any]) -> None:
    printed = CliRunner().invoke(cli, ["schema", document["kind"]], standalone_mode=False).stdout
    validator = Draft202012Validator(json.loads(printed))

    assert validator.is_valid(document)
    for field in document:
        assert not validator.is_valid({**document, field: None})


def test_a_reference_is_a_path_and_a_digest() -> None:
    reference = parse_reference(f"perf/a.json@sha256:{'aB' * 32}")

    assert reference == ("perf/a.json", "ab" * 32)


@pytest.mark.parametrize("text", ["", "a.json", "a.json@sha256:12", f"@sha256:{'a' * 64}", f"a b@sha256:{'a' * 64}"])
def test_anything_else_is_no_reference(text: str) -> None:
    assert parse_reference(text) is None


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_is_named_in_any_case_with_blanks_or_hyphens(kind: Kind) -> None:
    assert kind_of(kind.words) == kind_of(kind.value) == kind_of(f" {kind.words.upper()} ") == kind


def test_other_words_name_no_kind() -> None:
    assert kind_of("tests pass") is None
    assert kind_of("static plan, observed dispatch") is None
