"""One run: sources -> facts -> findings, held against the baseline of each gate that was asked for."""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from analyzers.cache import FactCache, default_file
from analyzers.facts import FactBase, Need, Progress
from analyzers.finding import Finding, identify
from analyzers.globs import matcher
from analyzers.nearest import nearest
from analyzers.rules import RULES as SOURCE_RULES
from analyzers.trees.git import GitListing
from analyzers.trees.tree import Tree, TreeError
from gates.baseline.entries import Baseline
from gates.baseline.ratchet import Judgement, judge
from gates.baseline.store import load, save
from gates.files import refuse_outside
from gates.gate import Context, Gate
from gates.settings.load import Loaded


class Sources(Struct, frozen=True):
    """Where the files of a run come from."""

    ref: str | None = None
    staged: bool = False
    paths: tuple[str, ...] = ()
    """Judge only what stands in these files or folders (POSIX, relative to the root); empty means everywhere."""
    listing: GitListing | None = None
    """Git's list of the working tree, where it has been begun."""

    def begun(self, root: Path) -> Sources:
        """The same, with git at work where it is to list the files below the root."""
        return self if self.ref is not None or self.staged else replace(self, listing=GitListing(root))

    def cover(self, path: str) -> bool:
        """Is this file one of the paths, or below one? Without paths, every file is."""
        if not self.paths or "." in self.paths:
            return True
        return any(path == named or path.startswith(f"{named}/") for named in self.paths)

    def context(self, loaded: Loaded, cache: FactCache | None) -> Context:
        """The tree below the settings, and the settings.

        Raises:
            TreeError: as `open` has it.
            SettingsError: the settings of the evidence review, which no gate answers for, do not fit the tree.
        """
        context = Context(loaded, self.open(loaded.file.parent, cache), past=self.ref is not None)
        if not context.past:
            _refuse_idle_kernels(context)
        return context

    def open(self, root: Path, cache: FactCache | None) -> Tree:
        """The tree to analyse.

        Raises:
            TreeError: the folder, the revision or a named path does not exist.
        """
        tree = self._tree(root, cache)
        for path in self.paths:
            if not any(map(Sources(paths=(path,)).cover, tree.paths)):
                raise TreeError(f"{path}: there is no such file or folder in {self.ref or root}")
        return tree

    def _tree(self, root: Path, cache: FactCache | None) -> Tree:
        if self.ref is None and not self.staged:
            from analyzers.trees.working import WorkingTree

            return WorkingTree(root, cache, self.paths, self.listing)
        from analyzers.trees.committed import CommittedTree

        return CommittedTree.staged(root) if self.ref is None else CommittedTree.at_revision(root, self.ref)


def _refuse_idle_kernels(context: Context) -> None:
    evidence = context.settings.evidence
    for index, glob in enumerate(evidence.kernels if evidence else ()):
        if not any(map(matcher([glob]), context.paths)):
            near = nearest(glob, context.paths)
            raise context.loaded.error(("evidence", "kernels", index), f"{glob}: no file matches", near)


class GateResult(Struct, frozen=True):
    """One gate's findings, held against its baseline."""

    gate: Gate
    baseline_file: Path
    judgement: Judgement
    files: int


class Run(Struct, frozen=True):
    """Everything that came of one run."""

    context: Context
    results: tuple[GateResult, ...]
    partial: bool
    """Only some paths were judged: what is missing elsewhere says nothing."""
    seconds: float


def open_cache(enabled: bool) -> FactCache | None:
    return FactCache(default_file()) if enabled else None


def baseline_file(loaded: Loaded, gate: str) -> Path:
    return loaded.file.parent / loaded.settings.baselines / f"{gate}.json"


def save_baseline(loaded: Loaded, baseline: Baseline) -> None:
    """Write a gate's baseline.

    Raises:
        UserError: it cannot be written, or would be written outside of the tree; it is as it was.
    """
    file = baseline_file(loaded, baseline.gate)
    refuse_outside(loaded.file.parent, file)
    save(file, baseline)


class Found(Struct, frozen=True):
    """What one gate found, before any baseline is asked."""

    findings: list[Finding]
    files: int
    """How many files it answers for."""
    unread: frozenset[str]
    """Those that it asked for and could not read or parse, and folders that may hide some."""


def find(gates: Sequence[Gate], context: Context, facts: FactBase, progress: Progress) -> dict[str, Found]:
    """The findings of each gate, by its name, from one reading of the tree."""
    needs = {gate.name: gate.needs(context) for gate in gates}
    facts.gather([need for wanted in needs.values() for need in wanted], progress)
    try:
        return {gate.name: _found(gate, context, facts, needs[gate.name]) for gate in gates}
    finally:
        facts.stop()


def _found(gate: Gate, context: Context, facts: FactBase, needs: Sequence[Need]) -> Found:
    asked = {path for need in needs for path in need.paths}
    vital = {path for need in needs if need.vital for path in need.paths}
    findings = (*_source_findings(facts, vital), *gate.findings(context, facts))
    unread = facts.tree.problems.keys() | (facts.problems.keys() & asked)
    return Found(identify(findings), len(vital), frozenset(unread))


def run(
    loaded: Loaded,
    gates: Sequence[Gate],
    sources: Sources,
    *,
    cache: FactCache | None,
    progress: Progress,
) -> Run:
    """Run the gates once over shared facts.

    Raises:
        UserError: the settings, the tree, a baseline or the syntax checker cannot be used.
    """
    started = time.perf_counter()
    context = sources.context(loaded, cache)
    facts = FactBase(context.tree, cache)
    found = find(gates, context, facts, progress)
    results = tuple(_result(gate, found[gate.name], loaded, sources) for gate in gates)
    return Run(context, results, bool(sources.paths), time.perf_counter() - started)


def judge_again(run: Run, result: GateResult, baseline: Baseline) -> GateResult:
    """The same findings, held against another baseline."""
    old = result.judgement
    findings = (*old.new, *old.accepted, *old.waived)
    return replace(result, judgement=_judged(result.gate, findings, old.unread, baseline, run.context.loaded))


def _result(gate: Gate, found: Found, loaded: Loaded, sources: Sources) -> GateResult:
    file = baseline_file(loaded, gate.name)
    baseline = load(file, gate.name, Baseline.accepting(gate.name, found.findings))
    if sources.paths:
        baseline = Baseline.of(gate.name, (entry for entry in baseline.entries if sources.cover(entry.path)))
    findings = [finding for finding in found.findings if sources.cover(finding.path)]
    return GateResult(gate, file, _judged(gate, findings, found.unread, baseline, loaded), found.files)


def _judged(
    gate: Gate, findings: Iterable[Finding], unread: Collection[str], baseline: Baseline, loaded: Loaded
) -> Judgement:
    codes = {rule.code for rule in (*gate.rules, *SOURCE_RULES)}
    waivers = [waiver for waiver in loaded.settings.waivers if waiver.rule in codes]
    return judge(findings, baseline, waivers, datetime.date.today(), unread)


def _source_findings(facts: FactBase, vital: Collection[str]) -> Iterator[Finding]:
    """A gate answers for the files that it must read, and for folders that may hide some of them."""
    problems = {path: problem for path, problem in facts.problems.items() if path in vital}
    for path, problem in {**facts.tree.problems, **problems}.items():
        yield Finding(problem.rule, path, problem.line, problem.column, "", "", problem.message)
