"""What every benchmark puts into docs/performance.md: the machine, the promises, and a place between markers."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(frozen=True)
class Bar:
    """One promise, and whether it was kept."""

    what: str
    measured: float
    limit: float
    unit: str
    at_least: bool = False
    """Whether the limit is the least that was promised, not the most."""

    @property
    def kept(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def row(self) -> str:
        limit = f"{'at least' if self.at_least else 'at most'} {self.limit:g} {self.unit}"
        return f"| {self.what} | {self.measured:.3g} {self.unit} | {limit} | {'yes' if self.kept else '**no**'} |"


def table_of(bars: Iterable[Bar]) -> list[str]:
    """The promises as the lines of a Markdown table."""
    return ["| promise | measured | limit | kept |", "| --- | ---: | ---: | --- |", *(bar.row() for bar in bars)]


def machine() -> str:
    """Processor, cores that this process may use, memory, system, Python."""
    cpuinfo = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (cpuinfo.read_text().splitlines() if cpuinfo.exists() else [])
        if line.startswith("model name")
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return (
        f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" {platform.system()}, Python {platform.python_version()}"
    )


def write_between_markers(document: Path, name: str, text: str) -> None:
    """Replace what stands in `document` between `<!-- name:start -->` and `<!-- name:end -->`."""
    content = document.read_text(encoding="utf-8")
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    before, found_start, rest = content.partition(start)
    _, found_end, after = rest.partition(end)
    if not (found_start and found_end):
        raise click.ClickException(f"{document}: no {start} ... {end} to write between")
    document.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")
