"""What a reference policy says that cannot be meant, whatever the tree holds."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.declarations.tables import check_shape
from analyzers.markdown.extractor import is_markdown
from analyzers.policy import Misfit
from analyzers.reference.policy import ReferencePolicy, SectionPolicy

_OF_TABLES = ("symbol", "shape", "record", "keys", "columns", "fields", "omitted", "optional")


def check_policy(policy: ReferencePolicy) -> Iterator[Misfit]:
    """Everything about the policy that makes no sense by itself."""
    if not is_markdown(policy.page):
        yield Misfit(("reference", "page"), f"{policy.page!r} is no Markdown file: its name must end in `.md`")
    headings = [section.heading for section in policy.sections]
    for index, section in enumerate(policy.sections):
        key = ("reference", "sections", index)
        if section.heading in headings[:index]:
            yield Misfit((*key, "heading"), f"another section is called {section.heading!r}")
        if section.kind == "configuration":
            plain = SectionPolicy(heading=section.heading, kind=section.kind)
            for name in _OF_TABLES:
                if getattr(section, name) != getattr(plain, name):
                    yield Misfit((*key, name), "says how a table is read; the configuration has a form of its own")
        else:
            yield from (misfit.below(key) for misfit in _table(section))


def _table(section: SectionPolicy) -> Iterator[Misfit]:
    if section.symbol is None:
        yield Misfit(("symbol",), 'is required by `kind = "table"`')
    for key, message in check_shape(section):
        yield Misfit((key,), message)
    for name in ("fields", "omitted"):
        named: tuple[str, ...] = getattr(section, name)
        for place, field in enumerate(named):
            if field in named[:place] or (name == "omitted" and field in section.fields):
                yield Misfit((name, place), f"the field {field!r} is named twice")
