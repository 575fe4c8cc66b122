"""The evidence review: a pull request's description, held against what really changed since the merge base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from analyzers.cache import FactCache
from analyzers.declarations.reader import UnreadableError
from analyzers.errors import UserError
from analyzers.evidence.analyse import Review, analyse, uncovered
from analyzers.evidence.artifacts import digest_of
from analyzers.evidence.body import read_body
from analyzers.evidence.changes import Change, changes_between
from analyzers.evidence.policy import EvidencePolicy
from analyzers.evidence.rules import RULES
from analyzers.evidence.surface import Sort, Subject, routes_in, settings_in, variables_in
from analyzers.facts import FactBase, Progress
from analyzers.finding import Finding, identify
from analyzers.globs import matcher
from analyzers.routes.snapshot import Plans, parse, plans_of
from analyzers.trees.git import changed_files, file_at, merge_base
from gates import config, env, routes
from gates.gate import Context
from gates.run import Sources
from gates.settings.load import Loaded, load_past

_COMPARED = ("routes", "config", "env")
"""The settings tables that say what there is to compare."""


class EvidenceReview:
    name = "evidence"
    summary = "a pull request says what it changes, and what backs each claim"
    rules = RULES


class Declared(NamedTuple):
    """What one tree declares."""

    subjects: list[Subject]
    plans: Plans
    errors: Mapping[str, list[UnreadableError]]
    """Table of routes -> what in it could not be read."""


class Comparison(NamedTuple):
    """The work tree, against its merge base."""

    context: Context
    commit: str
    changes: list[Change]
    files: list[str]
    """Every file that changed, but for those that no gate looks at."""
    plans: Plans
    unread: list[str]
    """What could not be read, so that nobody can tell whether it changed; nothing that may rest on it is a change."""

    @property
    def policy(self) -> EvidencePolicy:
        return self.context.settings.evidence or EvidencePolicy()

    @property
    def needs_evidence(self) -> list[str]:
        """The files because of which the change needs evidence."""
        return uncovered(self.policy, self.files, self.changes)

    def read(self, path: str) -> bytes | None:
        """What a file of the work tree holds; None where the tree has none of that name."""
        return self.context.tree.read(path) if path in self.context.tree.paths else None

    def snapshots(self) -> dict[str, str]:
        """The committed snapshots of the static plan as it is now: for each table, one as a row names it."""
        found: dict[str, str] = {}
        folder = matcher([self.context.settings.baselines])
        for path in self.context.paths:
            if path.endswith(".json") and folder(path):
                data = self.context.tree.read(path) or b""
                plans = _plans(data, path)
                current = (table for table, plan in plans.items() if self.plans.get(table) == plan)
                found |= dict.fromkeys(current, f"{path}@sha256:{digest_of(data)}")
        return found


def compare(loaded: Loaded, base: str, *, cache: FactCache | None, progress: Progress) -> Comparison:
    """Compare what the work tree declares with what its merge base with `base` does.

    Each tree is read by its own settings, so that taking something out of them hides nothing; tables that the older
    ones lack are those of today.

    Raises:
        UserError: the settings do not fit the tree, or there is no such revision or no common ancestor.
    """
    root = loaded.file.parent
    commit = merge_base(root, base)
    now = Sources().context(loaded, cache)
    was = Sources(ref=commit).context(_past(loaded, commit), cache)
    facts_now, facts_then = (_gathered(context, cache, progress) for context in (now, was))
    outside = [matcher(context.settings.exclude) for context in (was, now)]
    files = [path for path in changed_files(root, commit) if not all(excluded(path) for excluded in outside)]
    changed = [*_changed_files(files, was, now)]
    then = f" (at {commit[:12]})"
    if unread := _unread(facts_then, facts_now, files, then):
        return Comparison(now, commit, changed, files, {}, unread)
    after, before = _declared(now, facts_now), _declared(was, facts_then)
    return Comparison(
        context=now,
        commit=commit,
        changes=[*_declared_changes(before, after), *changed],
        files=files,
        plans=after.plans,
        unread=[*dict.fromkeys((*_told(after.errors, ""), *_told(before.errors, then)))],
    )


def findings(comparison: Comparison, text: str, name: str) -> list[Finding]:
    """Everything that is wrong with a description.

    Args:
        comparison: what really changed.
        text: the description, in Markdown.
        name: what findings call it.
    """
    review = Review(
        name=name,
        body=read_body(text),
        changes=comparison.changes,
        files=[path for path in comparison.files if path != name],
        read=comparison.read,
    )
    return identify(analyse(comparison.policy, review))


def _past(loaded: Loaded, commit: str) -> Loaded:
    """The settings at a commit, as far as there were any; the rest is that of today."""
    root = loaded.file.parent
    past = load_past(root, lambda name: file_at(root, commit, name))
    if past is None:
        return loaded
    missing = {name: getattr(loaded.settings, name) for name in _COMPARED if getattr(past.settings, name) is None}
    return replace(past, settings=replace(past.settings, **missing))


def _gathered(context: Context, cache: FactCache | None, progress: Progress) -> FactBase:
    facts = FactBase(context.tree, cache)
    gates = [module.GATE for module in (routes, config, env) if getattr(context.settings, module.GATE.name) is not None]
    facts.gather([need for gate in gates for need in gate.needs(context)], progress)
    return facts


def _declared(context: Context, facts: FactBase) -> Declared:
    settings = context.settings
    subjects: list[Subject] = []
    readings = []
    if settings.routes is not None:
        readings = routes.read(context, facts).readings
        subjects += routes_in(readings)
    if settings.config is not None:
        subjects += settings_in(config.configuration_of(context, facts))
    if settings.env is not None:
        subjects += variables_in(env.GATE.inventory(context, facts))
    errors = {reading.policy.name: reading.errors for reading in readings}
    return Declared(subjects, plans_of(readings), errors)


def _unread(before: FactBase, after: FactBase, changed: Sequence[str], then: str) -> list[str]:
    """The files because of which the declarations of the two trees cannot be compared, each with its problem.

    What could not be read before either, and has not changed, hides no change.
    """
    was, now = ({**facts.tree.problems, **facts.problems} for facts in (before, after))
    same = (was.keys() & now.keys()).difference(changed)
    return [
        f"{path}:{problem.line}: {problem.message}{when}" if problem.line else f"{path}: {problem.message}{when}"
        for problems, when in ((now, ""), (was, then))
        for path, problem in sorted(problems.items())
        if path not in same
    ]


def _told(tables: Mapping[str, list[UnreadableError]], when: str) -> Iterator[str]:
    """What cannot be read in tables of routes."""
    for errors in tables.values():
        yield from (f"{error.place.path}:{error.place.line}: {error}{when}" for error in errors)


def _declared_changes(before: Declared, after: Declared) -> Iterator[Change]:
    """What is declared otherwise; of a table that cannot be read as far as before, nobody knows."""
    was, now = ({name: [*map(str, errors)] for name, errors in side.errors.items()} for side in (before, after))
    for change in changes_between(before.subjects, after.subjects):
        table = change.subject.table
        if was.get(table, []) == now.get(table, []):
            yield change


def _changed_files(files: Sequence[str], was: Context, now: Context) -> Iterator[Change]:
    """The baselines and kernels among the changed files, by the settings of then and of now."""
    settings = was.settings, now.settings
    sorts: Mapping[Sort, list[str]] = {
        "baseline": [each.baselines for each in settings],
        "kernel": [glob for each in settings if each.evidence is not None for glob in each.evidence.kernels],
    }
    before, after = frozenset(was.tree.paths), frozenset(now.tree.paths)
    for sort, globs in sorts.items():
        for path in filter(matcher(globs), files):
            subject = Subject(sort, path, path, 0)
            yield Change(subject if path in before else None, subject if path in after else None)


def _plans(data: bytes, path: str) -> Plans:
    try:
        return parse(data.decode(), path)
    except (UserError, UnicodeDecodeError):
        return {}


REVIEW = EvidenceReview()
