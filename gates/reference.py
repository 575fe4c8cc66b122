"""The reference gate: one generated page of what the tree declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial

from analyzers.cache import FactCache
from analyzers.configuration.configuration import Configuration
from analyzers.declarations.values import Place
from analyzers.facts import FactBase, Need, Progress
from analyzers.finding import Finding
from analyzers.generated import WRITE_REFERENCE, stale_page
from analyzers.markdown.extractor import MarkdownExtractor
from analyzers.markdown.facts import MarkdownFacts
from analyzers.reference.analyse import Reading, broken_links, read_page
from analyzers.reference.page import Page
from analyzers.reference.policy import ReferencePolicy
from analyzers.reference.policy_check import check_policy
from analyzers.reference.rules import OF_THE_SETTINGS, RULES
from gates.config import GATE as CONFIG
from gates.config import configuration_of
from gates.declared import DeclaredModules
from gates.files import write_generated
from gates.gate import Context
from gates.run import Sources
from gates.settings.load import Loaded

_LINKS = MarkdownExtractor("github")


class ReferenceGate:
    name = "reference"
    summary = "the generated page says what the source declares, and links to it"
    rules = RULES

    def needs(self, context: Context) -> list[Need]:
        policy = _policy(context)
        context.refuse(check_policy(policy))
        needs = [_declared(context).need()]
        if _shows_configuration(context, policy):
            needs += CONFIG.needs(context)
        if policy.page in context.tree.paths:
            needs.append(Need(_LINKS, [policy.page]))
        return needs

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        page = _policy(context).page
        reading = reading_of(context, facts)
        found = list(_told(context, facts, reading.problems))
        if not reading.problems:
            found += stale_page("REF001", page, _rendered(reading.page), context.text_of(page), WRITE_REFERENCE)
        links = facts.of(_LINKS).get(page)
        if links is not None:
            tree = context.tree
            links = MarkdownFacts.from_json(links)
            found += broken_links(page, links, tree.paths, context.text_of, tree.has_elsewhere)
        return found


def reading_of(context: Context, facts: FactBase) -> Reading:
    """The page of a tree, after the gate's needs have been gathered.

    Raises:
        SettingsError: a section shows the configuration, and the config gate's table names what the tree lacks.
    """
    policy = _policy(context)
    configuration: Configuration | None = None
    if _shows_configuration(context, policy):
        configuration = configuration_of(context, facts)
    return read_page(policy, _declared(context).reader(facts), configuration, partial(_asked_at, context))


def read_tree(loaded: Loaded, sources: Sources, cache: FactCache | None, progress: Progress) -> Reading:
    """The page of the tree below some settings. Raises what the gate raises."""
    context = sources.context(loaded, cache)
    facts = FactBase(context.tree, cache)
    facts.gather(GATE.needs(context), progress)
    return reading_of(context, facts)


def write_page(loaded: Loaded, page: Page) -> None:
    """Write the page below the settings. Raises UserError where that cannot be done."""
    write_generated(loaded.file.parent, page.path, _rendered(page), WRITE_REFERENCE)


def _policy(context: Context) -> ReferencePolicy:
    policy = context.settings.reference
    if policy is None:
        raise context.loaded.error(("reference",), "nothing to show: name a `page`, its `title` and its `sections`")
    return policy


def _shows_configuration(context: Context, policy: ReferencePolicy) -> bool:
    for index, section in enumerate(policy.sections):
        if section.kind == "configuration":
            if context.settings.config is None:
                key = ("reference", "sections", index, "kind")
                raise context.loaded.error(key, "there is no configuration to show: add the table `config`")
            return True
    return False


@lru_cache(maxsize=2)
def _declared(context: Context) -> DeclaredModules:
    policy = _policy(context)
    symbols = [name for section in policy.sections for name in (section.symbol, section.record) if name is not None]
    return DeclaredModules(context, symbols, policy.modules)


def _asked_at(context: Context, section: int) -> Place:
    """Where the settings ask for the symbol of a section."""
    source = context.loaded.source
    mistake = source.mistake(("reference", "sections", section, "symbol"), "")
    return Place(source.path.name, mistake.line, 0)


def _told(context: Context, facts: FactBase, problems: Iterable[Finding]) -> Iterator[Finding]:
    """The problems that are not told already: a file that cannot be read is a finding of its own, and that a tree
    older than the settings is not what they say is none."""
    for problem in problems:
        known = problem.path in facts.problems or (context.past and problem.rule in OF_THE_SETTINGS)
        if not known:
            yield problem


def _rendered(page: Page) -> str:
    from reports.reference import render

    return render(page)


GATE = ReferenceGate()
