"""The benchmark of the host's work tells both of its figures for each batch."""

from __future__ import annotations

import re

from click.testing import CliRunner

from benchmarks.dispatch import main

FIGURE = re.compile(r"requests (\d+): ([\d.]+) us \(fastest [\d.]+\) a layer(, with its launches up to the driver)?$")


def test_both_figures_are_told_for_each_batch() -> None:
    result = CliRunner().invoke(main, ["--rounds", "1", "--steps", "1"])
    assert result.exit_code == 0, result.output
    found = [match.groups() for match in map(FIGURE.match, result.output.splitlines()) if match]
    assert [(requests, bool(launched)) for requests, _, launched in found] == [
        ("1", False),
        ("8", False),
        ("1", True),
        ("8", True),
    ]
