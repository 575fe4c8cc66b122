"""How fast the gates are, next to Python's own parser and two other import linters, all on one machine.

Run it with `make bench`, or `.venv/bin/python -m benchmarks.gates --help`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks import contenders, trees
from benchmarks.contenders import Suite
from benchmarks.page import Bar, machine, table_of, write_between_markers
from benchmarks.record import Figure, json_option, write_measurement
from benchmarks.timing import Command, CommandError, Peak, Series

_REPOSITORY = Path(__file__).parents[1]
_EDITED_FILES = 10
_MIB = 1024 * 1024

YARDSTICK = "`ast.parse` of every file"
IMPORT_LINTER = "import-linter, the tree as released"
IMPORT_LINTER_HELPED = "import-linter, `__init__.py` added in every folder"
TACH = "tach"
COLD = "gates layering, cold"
WARM = "gates layering, warm"
EDITED = f"gates layering, warm, {_EDITED_FILES} files edited"
VERSION = "gates --version"
CHECK_COLD = "gates check, every gate, cold"
CHECK_WARM = "gates check, every gate, warm"
CHECK_HERE = "gates check, this repository, warm"
DOCS = f"gates docs, cold, {trees.DOCUMENTS:,} documents, {trees.LINKS:,} links"


class Peaks(NamedTuple):
    """The memory of cold runs."""

    layering: Peak
    check: Peak


@dataclass
class Bench:
    """The prepared trees and everything measured on them."""

    tree: Path
    helped: Path
    whole: Path
    """The tree with settings for every gate."""
    documents: Path
    caches: Path
    series: dict[str, Series] = field(default_factory=lambda: defaultdict(lambda: Series([])))

    def measure(self, name: str, command: Command) -> None:
        seconds = command.seconds()
        self.series[name].seconds.append(seconds)
        click.echo(f"{seconds:8.2f} s  {name}", err=True)

    def round(self, number: int) -> None:
        """Run every contender once, in turn, so that a slow minute of the machine falls on all of them."""
        cache = self.caches / str(number)
        suite = Suite(self.tree, cache)
        self.measure(YARDSTICK, contenders.yardstick(self.tree))
        self.measure(IMPORT_LINTER, contenders.import_linter(self.tree))
        self.measure(IMPORT_LINTER_HELPED, contenders.import_linter(self.helped))
        self.measure(TACH, contenders.tach(self.tree))
        self.measure(COLD, suite.command("layering"))
        self.measure(WARM, suite.command("layering"))
        with trees.edited(trees.spread_out(trees.python_files(self.tree), _EDITED_FILES), number):
            self.measure(EDITED, suite.command("layering"))
        whole, here = Suite(self.whole, cache / "whole"), Suite(_REPOSITORY, cache / "here")
        self.measure(CHECK_COLD, whole.command("check"))
        self.measure(CHECK_WARM, whole.command("check"))
        here.command("check").output()
        self.measure(CHECK_HERE, here.command("check"))
        self.measure(VERSION, contenders.print_version())
        self.measure(DOCS, Suite(self.documents, cache / "docs").command("docs"))

    def peaks(self) -> Peaks:
        layering, check = Suite(self.tree, self.caches / "peak"), Suite(self.whole, self.caches / "peak of check")
        return Peaks(Peak.of(layering.command("layering")), Peak.of(check.command("check")))

    def median(self, name: str) -> float:
        return self.series[name].median


def prepare(released: Path, work: Path) -> Bench:
    """Copy the tree thrice, generate the documents, and accept the findings of today as the baseline.

    The copies are outside of this repository: they are edited, and git must not take them for ignored files.
    """
    bench = Bench(work / "tree", work / "helped", work / "whole", work / "documents", work / "caches")
    for copy in (bench.tree, bench.helped):
        shutil.copytree(released, copy)
        contenders.write_settings(copy)
    shutil.copytree(released, bench.whole)
    contenders.write_settings_of_every_gate(bench.whole)
    trees.make_every_folder_a_package(bench.helped)
    trees.write_documents(bench.documents)
    for tree in (bench.tree, bench.whole):
        Suite(tree, bench.caches / "baseline").command("init").output()
    for tree in (bench.tree, bench.whole, bench.documents):
        trees.commit(tree)
    return bench


def check_documents(bench: Bench) -> None:
    """The docs gate must find every broken link and nothing else, or its time means nothing."""
    docs = Suite(bench.documents, bench.caches / "check").command("docs", "--format", "json")
    found = len(json.loads(docs.output())["findings"])
    if found != trees.BROKEN:
        raise CommandError(f"gates docs found {found} broken links where {trees.BROKEN} were planted")


def bars(bench: Bench, peaks: Peaks) -> list[Bar]:
    yardstick, cold, warm = bench.median(YARDSTICK), bench.median(COLD), bench.median(WARM)
    return [
        Bar("layering, cold", cold / yardstick, 0.5, "x `ast.parse`"),
        Bar("layering, warm", warm / yardstick, 0.06, "x `ast.parse`"),
        Bar(f"layering, {_EDITED_FILES} files edited", bench.median(EDITED) / warm, 1.3, "x warm"),
        Bar("`gates --version`", bench.median(VERSION), 0.15, "s"),
        Bar("layering, cold, memory of all processes", peaks.layering.tree / _MIB, 400, "MiB"),
        Bar("every gate, cold", bench.median(CHECK_COLD) / yardstick, 0.9, "x `ast.parse`"),
        Bar("every gate, warm", bench.median(CHECK_WARM) / yardstick, 0.08, "x `ast.parse`"),
        Bar("every gate, cold, memory of all processes", peaks.check.tree / _MIB, 500, "MiB"),
        Bar("this repository, warm", bench.median(CHECK_HERE), 0.6, "s"),
        Bar("docs, cold", bench.median(DOCS), 2, "s"),
    ]


def render(bench: Bench, peaks: Peaks, runs: int) -> str:
    """Everything measured, as Markdown."""
    files = trees.python_files(bench.tree)
    yardstick = bench.median(YARDSTICK)
    lines = [
        f"{machine()}. {contenders.versions()}.",
        f"{len(files):,} Python files of {sum(file.stat().st_size for file in files) / _MIB:.0f} MiB;"
        f" medians of {runs}, each contender in turn.",
        "",
        "| what | median | from ... to | x `ast.parse` |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, series in bench.series.items():
        low, high = series.spread
        ratio = series.median / yardstick
        lines.append(f"| {name} | {series.median:.2f} s | {low:.2f} ... {high:.2f} s | {ratio:.3f} |")
    lines += [
        "",
        f"Memory of the cold runs, over all processes at once: {peaks.layering.tree / _MIB:.0f} MiB for layering,"
        f" {peaks.check.tree / _MIB:.0f} MiB for every gate; in the largest process {peaks.layering.process / _MIB:.0f}"
        f" and {peaks.check.process / _MIB:.0f} MiB.",
        "",
        *table_of(bars(bench, peaks)),
    ]
    return "\n".join(lines)


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Rounds to run.")
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="An unpacked sglang to measure on, of any version. Default: 0.5.23 from PyPI.",
)
@click.option(
    "--write",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="DOCUMENT",
    help="Also write the result between the markers of a Markdown document.",
)
@json_option
def main(runs: int, tree: Path | None, write: Path | None, record: Path | None) -> None:
    """Measure the gates, `ast.parse`, import-linter and tach on one large tree."""
    contenders.install_others()
    released = tree or trees.fetch()
    with tempfile.TemporaryDirectory(prefix="voltgate-bench-") as work:
        try:
            bench = prepare(released, Path(work))
            check_documents(bench)
            for number in range(runs):
                bench.round(number)
            text = render(bench, bench.peaks(), runs)
        except CommandError as error:
            raise click.ClickException(str(error)) from None
    click.echo(text)
    if write is not None:
        write_between_markers(write, "benchmark", text)
    if record is not None:
        figures = {name: Figure("s", series.seconds) for name, series in bench.series.items()}
        write_measurement(record, "cpu", f"make bench ARGS=--runs={runs}", figures)


if __name__ == "__main__":
    main()
