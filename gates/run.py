"""One run: sources -> facts -> findings -> baseline -> verdict, for the gates that were asked for."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from analyzers.cache import FactCache, default_file
from analyzers.decoding import decode
from analyzers.facts import FactBase, Progress
from analyzers.finding import Finding, identify
from analyzers.trees.committed import CommittedTree
from analyzers.trees.tree import Tree, TreeError
from analyzers.trees.working import WorkingTree
from gates.baseline.ratchet import Judgement, judge
from gates.baseline.store import Baseline, load
from gates.gate import Context, Gate
from gates.registry import all_rules
from gates.settings.load import Loaded
from reports.report import GateSummary, Report, Verdict


@dataclass(frozen=True)
class Sources:
    """Where the files of a run come from."""

    ref: str | None = None
    staged: bool = False
    paths: tuple[str, ...] = ()
    """Report only what stands in these files or folders (POSIX, relative to the root); empty means everywhere."""

    def open(self, root: Path, cache: FactCache | None) -> Tree:
        """The tree to analyse.

        Raises:
            TreeError: the folder, the revision or a named path does not exist.
        """
        if self.ref is not None:
            tree: Tree = CommittedTree.at_revision(root, self.ref)
        elif self.staged:
            tree = CommittedTree.staged(root)
        else:
            working = WorkingTree(root, cache)
            for path in self.paths:
                working.add(path)
            tree = working
        for path in self.paths:
            if path != "." and not any(known == path or known.startswith(f"{path}/") for known in tree.paths):
                raise TreeError(f"{path}: there is no such file or folder in {self.ref or root}")
        return tree


@dataclass(frozen=True)
class GateResult:
    """One gate's findings, held against its baseline."""

    gate: Gate
    baseline_file: Path
    baseline: Baseline
    judgement: Judgement
    files: int


@dataclass(frozen=True)
class Run:
    """Everything that came of one run."""

    context: Context
    results: tuple[GateResult, ...]
    seconds: float


def open_cache(enabled: bool) -> FactCache | None:
    return FactCache(default_file()) if enabled else None


def baseline_file(loaded: Loaded, gate: str) -> Path:
    return loaded.file.parent / loaded.settings.baselines / f"{gate}.json"


def run(
    loaded: Loaded,
    gates: Sequence[Gate],
    sources: Sources,
    *,
    cache: FactCache | None,
    progress: Progress,
    strict: bool = False,
) -> Run:
    """Run the gates once over shared facts.

    Raises:
        SettingsError, TreeError, BaselineError, SyntaxCheckerError: exit status 2, each with its own remedy.
    """
    started = time.perf_counter()
    context = Context(loaded, sources.open(loaded.file.parent, cache))
    facts = FactBase(context.tree, cache)
    needs = {gate.name: gate.needs(context) for gate in gates}
    facts.gather([need for wanted in needs.values() for need in wanted], progress)
    results = []
    for gate in gates:
        read = {path for need in needs[gate.name] for path in need.paths}
        findings = identify((*_source_findings(facts, read), *gate.findings(context, facts)))
        file = baseline_file(loaded, gate.name)
        baseline = load(file, gate.name)
        judgement = judge(
            _within(findings, sources.paths), baseline, loaded.settings.waivers, datetime.date.today()
        )
        results.append(GateResult(gate, file, baseline, judgement, len(read)))
    return Run(context, tuple(results), time.perf_counter() - started)
