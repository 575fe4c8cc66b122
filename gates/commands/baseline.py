"""`gates baseline`: what maintainers do with the accepted findings."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import click

from analyzers.finding import Finding
from analyzers.trees.git import file_at, merge_base
from gates.baseline.compare import Diff, diff, verify
from gates.baseline.entries import Baseline
from gates.baseline.format import BaselineError, parse
from gates.baseline.merge import merge_files
from gates.baseline.ratchet import prune
from gates.baseline.store import load
from gates.baseline.verdict import doubt, growth
from gates.commands.options import format_options, no_cache_option, output_option, root_option, settings_for
from gates.commands.output import publish, write
from gates.progress import terminal_progress
from gates.registry import NAMES, configured, gate
from gates.reporting import compose, files_for, text_on_disk
from gates.run import Run, Sources, baseline_file, open_cache, run, save_baseline
from gates.settings.load import Loaded, baselines_folder
from reports.formats import REFRESH_FORMATS, refresh_renderer
from reports.report import Verdict
from reports.wording import plural


@click.group("baseline")
def command() -> None:
    """Refresh, verify, compare, merge and prune the baselines."""


@command.command("refresh")
@root_option
@no_cache_option
@click.option("--record-waived", is_flag=True, help="Also record the findings that waivers in force cover.")
@click.option("--dry-run", is_flag=True, help="Only say what would change; write no baseline.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(REFRESH_FORMATS)),
    default="terminal",
    show_default=True,
    help="What to print; markdown is made for a pull request.",
)
@output_option(tuple(REFRESH_FORMATS))
def refresh(
    root: Path | None,
    no_cache: bool,
    record_waived: bool,
    dry_run: bool,
    format_: str,
    outputs: list[tuple[str, Path]],
) -> int:
    """Bring every baseline up to date, and tell what shrank, what is refused and what may have moved.

    A baseline can only shrink, but for what --record-waived names. Exit status 1 where something new is refused, 3
    where all of it may only have moved.
    """
    from gates.refresh import refresh_baselines

    outcome = refresh_baselines(_run_all(settings_for(root), no_cache), record=record_waived, write=not dry_run)
    click.echo(refresh_renderer(format_)(outcome), nl=False)
    for name, file in outputs:
        write(file, refresh_renderer(name)(outcome))
    return int(outcome.verdict)


@command.command("prune")
@root_option
@no_cache_option
def prune_gone(root: Path | None, no_cache: bool) -> None:
    """Drop the entries of files that are gone; nothing else changes."""
    outcome = _run_all(settings_for(root), no_cache)
    present = frozenset(outcome.context.tree.paths)
    for result in outcome.results:
        before, after = result.judgement.baseline, prune(result.judgement, present.__contains__)
        if len(after.entries) < len(before.entries):
            save_baseline(outcome.context.loaded, after)
        click.echo(f"{result.gate.name}: {len(before.entries) - len(after.entries)} entries dropped")
        if result.judgement.unsure:
            click.echo(doubt(result.judgement, files_for(outcome.context.loaded, result.gate.name).baseline))


@command.command("verify")
@root_option
@click.option("--base", metavar="REV", required=True, help="What HEAD is compared with, at their merge base.")
@format_options
def verify_growth(root: Path | None, base: str, format_: str, outputs: list[tuple[str, Path]]) -> int:
    """Fail where a baseline holds more than at the merge base with REV, without a waiver."""
    loaded = settings_for(root)
    folder = loaded.file.parent
    commit = merge_base(folder, base)
    failing: list[Finding] = []
    said = []
    for name in configured(loaded.settings):
        current = load(baseline_file(loaded, name), name)
        files = files_for(loaded, name)
        old = _committed(loaded, commit, name)
        verification = verify(old, current, loaded.settings.waivers, datetime.date.today())
        failing += growth(verification, current, files)
        said.append(_comparison(files.baseline, old, current, commit[:12]))
    said += [
        f"The gate {name} is not configured any more, and its baseline at {commit[:12]} is gone with it."
        for name in NAMES
        if name not in configured(loaded.settings) and _committed(loaded, commit, name) is not None
    ]
    verdict = Verdict.BROKEN if failing else Verdict.CLEAN
    report = compose(verdict, failing, said, root=folder, text_of=lambda path: text_on_disk(folder / path))
    publish(report, format_, outputs)
    return int(verdict)


@command.command("diff")
@root_option
@click.option("--base", metavar="REV", default="HEAD", show_default=True, help="The revision to compare with.")
def show_difference(root: Path | None, base: str) -> None:
    """Show what the baselines on disk accept more and less than those at REV."""
    loaded = settings_for(root)
    for name in configured(loaded.settings):
        old = _committed(loaded, base, name) or Baseline(name)
        found = diff(old, load(baseline_file(loaded, name), name))
        for line in _difference_lines(files_for(loaded, name).baseline, found):
            click.echo(line)


@command.command("merge")
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("name", required=False, default="the baseline")
def merge_driver(base: Path, ours: Path, theirs: Path, name: str) -> int:
    """Merge THEIRS into OURS, given their common ancestor BASE: git's merge driver for baselines.

    Set it up with `git config merge.gates-baseline.driver "gates baseline merge %O %A %B %P"` and a line
    `baselines/*.json merge=gates-baseline` in .gitattributes.
    """
    try:
        merge_files(base, ours, theirs, name)
    except BaselineError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    return 0


def _run_all(loaded: Loaded, no_cache: bool) -> Run:
    gates = [gate(name) for name in configured(loaded.settings)]
    return run(loaded, gates, Sources(), cache=open_cache(not no_cache), progress=terminal_progress("reading"))


def _committed(loaded: Loaded, revision: str, name: str) -> Baseline | None:
    """A gate's baseline at a revision, where the settings of that revision keep it."""
    root = loaded.file.parent
    folder = baselines_folder(lambda file: file_at(root, revision, file)) or loaded.settings.baselines
    path = f"{folder}/{name}.json"
    content = file_at(root, revision, path)
    return None if content is None else parse(content, f"{path} at {revision[:12]}", name)


def _comparison(path: str, old: Baseline | None, current: Baseline, commit: str) -> str:
    """What `verify` compared, in one sentence."""
    entries = plural(len(current.entries), "entry", "entries")
    if old is None:
        return f"{path}: {entries}; there is none at {commit}, so it is taken as the first one."
    return f"{path}: {entries}, {len(old.entries)} at {commit}."


def _difference_lines(path: str, found: Diff) -> Iterator[str]:
    if not (found.added or found.removed or found.moved or found.resized):
        yield f"{path}: no difference"
        return
    yield path
    for rule, figures in found.changes(lambda entry: entry.rule).items():
        counts = (f"{count} {name}" for name, count in figures._asdict().items() if count)
        yield f"  {rule}: {', '.join(counts)}"
    for sign, entries in (("+", found.added), ("-", found.removed)):
        yield from (f"  {sign} {entry.title}" for entry in entries)
    yield from (f"  > {move.old.title} -> {move.new.path}" for move in found.moved)
    for change in found.resized:
        sign = "+" if change.grown else "-"
        yield f"  {sign} {change.new.title}: {change.old.amount} -> {change.new.amount}"
