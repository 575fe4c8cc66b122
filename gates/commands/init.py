"""`gates init`: a starting configuration for the tree at hand, and its first baselines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from analyzers.errors import UserError
from analyzers.trees.working import WorkingTree
from gates.baseline.entries import Baseline, Entry
from gates.commands.options import no_cache_option
from gates.init import detect, starting_settings
from gates.progress import terminal_progress
from gates.registry import all_rules, configured, gate
from gates.run import GateResult, Sources, baseline_file, open_cache, run, save_baseline
from gates.settings.load import Loaded, load, settings_file
from reports.wording import plural

_FILE = "gates.toml"


@click.command("init")
@click.option(
    "--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The tree's folder."
)
@no_cache_option
def command(root: Path, no_cache: bool) -> None:
    """Write gates.toml for this tree, and baselines that accept what is there today.

    Settings that exist are left alone; then only gates that have no baseline yet get their first one.
    """
    root = root.resolve()
    if settings_file(root) is None:
        _write_settings(root)
    _write_baselines(root, no_cache)


def _write_settings(root: Path) -> None:
    tree = WorkingTree(root)
    text = starting_settings(detect(tree.paths, tree.read))
    try:
        with (root / _FILE).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"{root / _FILE}: cannot be written: {error.strerror}") from None
    click.echo(f"wrote {_FILE}: read it, its comments explain each choice")


def _write_baselines(root: Path, no_cache: bool) -> None:
    loaded = load(root)
    if not configured(loaded.settings):
        click.echo(f"{loaded.file.name} configures no gate yet, so there is no baseline to write")
        return
    names = [name for name in configured(loaded.settings) if not baseline_file(loaded, name).exists()]
    if not names:
        raise UserError(f"{loaded.file}: the settings and a baseline for each of their gates exist already")
    gates = [gate(name) for name in names]
    outcome = run(loaded, gates, Sources(), cache=open_cache(not no_cache), progress=terminal_progress("reading"))
    for result in outcome.results:
        _accept(loaded, result)
    click.echo("next: commit the settings and the baselines, and run `gates check` in pre-commit and CI")


def _accept(loaded: Loaded, result: GateResult) -> None:
    found = result.judgement.new
    save_baseline(loaded, Baseline.of(result.gate.name, map(Entry.of, found)))
    accepted, files = plural(len(found), "finding"), plural(result.files, "file")
    click.echo(f"wrote {result.baseline_file.name}: {accepted} accepted, in {files}")
    names = {code: rule.name for code, rule in all_rules().items()}
    for code, count in sorted(Counter(finding.rule for finding in found).items()):
        click.echo(f"  {count:>7}  {code} {names[code]}")
