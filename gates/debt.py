"""What the layering gate says beyond its verdict: the debt that is left, and another project's counts taken over."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from analyzers.cache import FactCache
from analyzers.errors import UserError
from analyzers.facts import FactBase, Progress
from analyzers.finding import Finding
from analyzers.layering.coupling import coupling_kind
from analyzers.layering.debt import Debt, measure_debt
from gates.baseline.counts import Imported, import_counts, parse_counts
from gates.baseline.entries import Baseline
from gates.baseline.merge import merge
from gates.baseline.store import load
from gates.gate import Context
from gates.layering import GATE
from gates.run import Sources, baseline_file, find
from gates.settings.load import Loaded


def debt_of(loaded: Loaded, sources: Sources, base: str | None, cache: FactCache | None, progress: Progress) -> Debt:
    """Every finding of the layering gate, accepted or not, sorted and counted; with the trend since `base`.

    The base is judged by today's settings, so that only the code makes a difference.
    """
    context = sources.context(loaded, cache)
    facts = FactBase(context.tree, cache)
    findings = _findings(context, facts, sources, progress)
    before = None
    if base is not None:
        past = Sources(ref=base).context(loaded, cache)
        before = _findings(past, FactBase(past.tree, cache), sources, progress)
    inputs = GATE.inputs(context, facts)
    return measure_debt(inputs.policy, inputs.modules, inputs.facts, findings, before)


def take_over(loaded: Loaded, file: Path, cache: FactCache | None, progress: Progress) -> Imported:
    """The layering baseline, with the couplings that another project's counts allow in the place of its own.

    Raises:
        UserError: no coupling pattern is configured, or the file is no table of counts.
    """
    policy = loaded.settings.layering
    if policy is None or not policy.coupling:
        raise loaded.error(("layering",), "counts are of couplings, and no coupling pattern is defined")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    counts = parse_counts(content, str(file), [pattern.kind for pattern in policy.coupling])
    context = Sources().context(loaded, cache)
    found = _findings(context, FactBase(context.tree, cache), Sources(), progress)
    couplings = [finding for finding in found if finding.rule == "LAY101"]
    imported = import_counts(counts, couplings, coupling_kind, GATE.name)
    current = load(baseline_file(loaded, GATE.name), GATE.name)
    others = Baseline.of(GATE.name, (entry for entry in current.entries if entry.rule != "LAY101"))
    return replace(imported, baseline=merge(Baseline(GATE.name), others, imported.baseline))


def _findings(context: Context, facts: FactBase, sources: Sources, progress: Progress) -> list[Finding]:
    found = find([GATE], context, facts, progress)[GATE.name].findings
    return [finding for finding in found if sources.cover(finding.path)]
