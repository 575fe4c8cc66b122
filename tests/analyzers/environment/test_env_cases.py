"""The shared cases, and ours in the same format: what one file does with the environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.environment.extractor import UsesExtractor
from analyzers.environment.uses import FileUses
from analyzers.source import Source

CASES = Path(__file__).parents[2] / "cases"


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in json.loads((CASES / name).read_text("utf-8"))]


@pytest.mark.parametrize("case", [*cases("env_reads.json"), *cases("env_reads_more.json")])
def test_uses_of_the_environment(case: dict[str, Any]) -> None:
    path = "file.cpp" if case.get("language") == "native" else "file.py"
    extractor = UsesExtractor(tuple(case.get("wrappers", ())))

    found = FileUses.from_json(extractor.extract(Source(path, case["source"])))

    expected = [(site["name"], site["access"], site["line"]) for site in case["sites"]]
    assert sorted(use[:3] for use in found.uses) == sorted(expected)
