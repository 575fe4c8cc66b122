"""The docs gate: local links in maintained documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import groupby

from analyzers.doclinks.links import find_broken_links
from analyzers.doclinks.paths import PathIndex
from analyzers.doclinks.policy import DocsPolicy, dialect_of, normal_folder
from analyzers.doclinks.rules import RULES
from analyzers.facts import FactBase, Need
from analyzers.finding import Finding
from analyzers.globs import matcher
from analyzers.markdown.extractor import MarkdownExtractor, is_markdown
from analyzers.markdown.facts import Dialect, MarkdownFacts
from gates.files import write_text
from gates.gate import Context
from gates.run import Sources
from gates.settings.load import Loaded


class DocsGate:
    name = "docs"
    summary = "local links in maintained documents lead somewhere"
    rules = RULES

    def needs(self, context: Context) -> list[Need]:
        policy = policy_of(context)
        if not context.past:
            _check(policy, context)
        maintained = matcher(policy.maintained)
        groups: dict[tuple[Dialect, bool], list[str]] = defaultdict(list)
        for path in filter(is_markdown, context.paths):
            groups[dialect_of(policy, path), maintained(path)].append(path)
        return [Need(MarkdownExtractor(dialect), paths, vital=vital) for (dialect, vital), paths in groups.items()]

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        return find_broken_links(
            policy_of(context),
            context.tree.paths,
            documents_of(context, facts),
            context.text_of,
            context.tree.has_elsewhere,
        )


def policy_of(context: Context) -> DocsPolicy:
    return context.settings.docs or DocsPolicy()


def _check(policy: DocsPolicy, context: Context) -> None:
    """Refuse settings that do not fit the tree."""
    if not policy.folders:
        return
    index = PathIndex(context.tree.paths)
    for folder in policy.folders:
        path = normal_folder(folder)
        if path not in index.folders:
            nearest = next((other for other in index.near(path) if other in index.folders), "")
            raise context.loaded.error(("docs", "folders", folder), f"there is no folder {folder!r}", nearest)


def documents_of(context: Context, facts: FactBase) -> Mapping[str, MarkdownFacts]:
    """Every document of the tree, each read in its own dialect."""
    policy = policy_of(context)
    return {
        path: MarkdownFacts.from_json(fact)
        for dialect in ("github", "mkdocs")
        for path, fact in facts.of(MarkdownExtractor(dialect)).items()
        if dialect_of(policy, path) == dialect
    }


def fix_links(loaded: Loaded, sources: Sources) -> dict[str, int]:
    """Rename broken links on disk where only one target can have been meant; the number in each changed file.

    Raises:
        UserError: the tree cannot be read, or a document cannot be written.
    """
    from analyzers.doclinks.fixes import apply_edits, plan_fixes

    context = sources.context(loaded, None)
    facts = FactBase(context.tree)
    facts.gather(GATE.needs(context))
    edits = plan_fixes(
        policy_of(context),
        context.tree.paths,
        documents_of(context, facts),
        lambda path: _exact_text(context, path),
        context.tree.has_elsewhere,
    )
    changed = {}
    for path, group in groupby(filter(lambda edit: sources.cover(edit.path), edits), key=lambda edit: edit.path):
        wanted = list(group)
        text = _exact_text(context, path)
        assert text is not None
        write_text(context.tree.root, path, apply_edits(text, wanted))
        changed[path] = len(wanted)
    return changed


def _exact_text(context: Context, path: str) -> str | None:
    """With its own newlines and byte order mark, so that what is not renamed stays as it is."""
    data = context.tree.read(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


GATE = DocsGate()
