"""Sections of the page that show who owns which setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from analyzers.configuration.configuration import Configuration
from analyzers.configuration.inventory import metadata
from analyzers.configuration.ownership import OwnedSetting, OwnerPath
from analyzers.declarations.values import Place
from analyzers.finding import Finding
from analyzers.reference.page import Block, PageRow

_COLUMNS = ("setting", "type", "default", "variables", "description")
QUOTED = frozenset(("type", "default"))
"""The columns that quote the source."""
_DESCRIPTIONS = ("description", "help")
"""What pydantic, and what command lines call the sentence that describes a field."""


def blocks(configuration: Configuration) -> Iterator[Block]:
    """A block for each class that a root reaches, with all fields, inherited ones included."""
    settings = {
        owner: [*group] for owner, group in groupby(configuration.settings, key=lambda found: found.owner.definition)
    }
    for owned in configuration.ownership:
        definition = owned.definition
        paths = _names(configuration.ownership.paths[definition])
        rows = [_row(configuration, setting) for setting in settings.get(definition, ())]
        yield Block(owned.name, paths, Place(definition.path, owned.fact.line, 0), _COLUMNS, rows)


def unread(configuration: Configuration) -> Iterator[Finding]:
    """REF005, for each file that may declare settings and does not parse."""
    for path, outline in configuration.program.outlines.items():
        if not outline.is_read:
            message = "may declare settings, and does not parse"
            yield Finding("REF005", path, 1, 0, "", "file", message, "Correct the syntax, or nest it less deeply.")


def _names(paths: Sequence[OwnerPath]) -> list[str]:
    return [path.path or path.root for path in paths]


def _row(configuration: Configuration, found: OwnedSetting) -> PageRow:
    fact = found.setting.fact
    fields = {
        "setting": fact.name,
        "type": fact.annotation,
        "default": found.setting.default or None,
        "variables": _sorted(alias.variable for alias in configuration.aliases_of(found)),
        "description": next(filter(None, map(metadata(fact.keywords).get, _DESCRIPTIONS)), None),
    }
    return PageRow(Place(found.setting.owner.path, fact.line, 0), fields)


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(set(names))
