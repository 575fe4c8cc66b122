"""From declarations to the page and to findings: the entrances of the reference analyser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from analyzers.configuration.configuration import Configuration
from analyzers.declarations.reader import MissingError, Reader
from analyzers.declarations.values import Place
from analyzers.doclinks.links import HasElsewhere, LinkChecker, TextOf
from analyzers.doclinks.policy import DocsPolicy
from analyzers.finding import Finding
from analyzers.markdown.facts import MarkdownFacts
from analyzers.reference.configuration import blocks, unread
from analyzers.reference.page import Page, Section
from analyzers.reference.policy import ReferencePolicy, SectionPolicy
from analyzers.reference.tables import empty, misfit, missing_symbol, read_section


class Reading(Struct, frozen=True):
    """The page, and why it may lack something."""

    page: Page
    problems: Sequence[Finding]
    """Declarations that are missing, unreadable or of another form than the settings know: without them the page
    would be wrong by omission."""


def read_page(
    policy: ReferencePolicy, reader: Reader, configuration: Configuration | None, asked_at: Callable[[int], Place]
) -> Reading:
    """Read what the sections show.

    Args:
        policy: the settings.
        reader: knows the modules of the tables.
        configuration: that of the tree, where a section asks for it.
        asked_at: where the settings ask for the symbol of a section, by its index.
    """
    sections: list[Section] = []
    problems: list[Finding] = []
    for index, section in enumerate(policy.sections):
        if section.kind == "configuration":
            assert configuration is not None
            sections.append(replace(empty(section), blocks=[*blocks(configuration)]))
            problems += unread(configuration)
        else:
            shown, found = _table(reader, section, partial(asked_at, index))
            sections.append(shown)
            problems += found
    problems += map(misfit, reader.problems)
    # A default that cannot be read is met in every row that leaves it out.
    return Reading(Page(policy.page, policy.title, sections), list(dict.fromkeys(problems)))


def _table(reader: Reader, policy: SectionPolicy, place: Callable[[], Place]) -> tuple[Section, list[Finding]]:
    try:
        return read_section(reader, policy)
    except MissingError as error:
        if policy.optional and str(error) == policy.symbol:
            return empty(policy), []
        return empty(policy), [missing_symbol(policy, str(error), place(), error.known)]


def broken_links(
    page: str, facts: MarkdownFacts, paths: Iterable[str], text_of: TextOf, has_elsewhere: HasElsewhere
) -> Iterator[Finding]:
    """REF002, for each target of the page, as it is in the tree, that is not there. The arguments are those of
    `find_broken_links`."""
    checker = LinkChecker(DocsPolicy(), paths, {page: facts}, text_of, has_elsewhere)
    broken = ((facts.links[index], found) for index, found in checker.broken_in(page))
    by_target = sorted(broken, key=lambda pair: (_file(pair[0].target), pair[0].line))
    for target, group in groupby(by_target, key=lambda pair: _file(pair[0].target)):
        (link, found), *others = group
        more = f"; {len(others)} more links to it are broken" if others else ""
        hint = found.hint or "Correct the settings that name it, or write the page anew."
        yield Finding("REF002", page, link.line, link.column, "", target, f"{found.message}{more}", hint)


def _file(target: str) -> str:
    """A link's target without the place in it."""
    return target.partition("#")[0]
