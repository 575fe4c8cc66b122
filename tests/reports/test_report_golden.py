"""Every format against a committed copy of its output. After an intended change: `python tests/reports/<this file>`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from report_samples import broken_report, clean_report, debt

from reports import debt_terminal, terminal
from reports.formats import DEBT_FORMATS, FORMATS, debt_renderer, renderer

GOLDEN = Path(__file__).with_name("golden")
SUFFIXES = {"json": "json", "sarif": "sarif", "junit": "xml", "markdown": "md", "html": "html"}


@cache
def outputs() -> dict[str, str]:
    written = {}
    for name in FORMATS:
        suffix = SUFFIXES.get(name, "txt")
        written[f"broken-{name}.{suffix}"] = renderer(name)(broken_report())
        written[f"clean-{name}.{suffix}"] = renderer(name)(clean_report())
    for name in DEBT_FORMATS:
        if name != "html":
            written[f"debt-{name}.{SUFFIXES.get(name, 'txt')}"] = debt_renderer(name)(debt())
    written["broken-terminal-colour.txt"] = terminal.render(broken_report(), colour=True)
    written["debt-terminal-colour.txt"] = debt_terminal.render(debt(), colour=True)
    return written


@pytest.mark.parametrize("name", sorted(outputs()))
def test_output_is_the_committed_one(name: str) -> None:
    assert outputs()[name] == (GOLDEN / name).read_bytes().decode("utf-8")


def test_no_committed_output_is_orphaned() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == set(outputs())


if __name__ == "__main__":
    for name, text in outputs().items():
        (GOLDEN / name).write_bytes(text.encode("utf-8"))
