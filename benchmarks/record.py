"""Measurements as the JSON that `gates evidence` takes for a measured performance; docs/evidence.md describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.page import machine

json_option = click.option(
    "--json",
    "record",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Also write every round as JSON, which is evidence of a measured performance.",
)
"""The option of every benchmark that writes such a file; the parameter is called `record`."""


@dataclass(frozen=True)
class Figure:
    """One measured quantity: a value for every run."""

    unit: str
    values: Sequence[float]


def write_measurement(path: Path, device: str, command: str, figures: Mapping[str, Figure]) -> None:
    """Write what was measured.

    Args:
        path: replaced if it exists.
        device: "cpu", or the name of the card that it ran on.
        command: measures it again.
        figures: by name; there is at least one, and all have as many values.

    Raises:
        ValueError: there is no figure, or one has more values than another.
    """
    runs = {len(figure.values) for figure in figures.values()}
    if len(runs) != 1:
        raise ValueError(f"figures have one value a run, all of as many runs, not of {sorted(runs)}")
    document = {
        "kind": "measured-performance",
        "version": 1,
        "machine": {"device": device, "host": machine()},
        "command": command,
        "runs": runs.pop(),
        "figures": {name: {"unit": each.unit, "values": list(each.values)} for name, each in figures.items()},
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
