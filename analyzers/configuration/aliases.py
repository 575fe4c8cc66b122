"""Which environment variable feeds which field: by a table, by metadata, by the expression that is assigned."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from analyzers.configuration.ownership import OwnedSetting
from analyzers.configuration.policy import ConfigPolicy
from analyzers.configuration.program import Definition, Program
from analyzers.environment.uses import FileUses, Use
from analyzers.python.nodes import last_part


class Alias(Struct, frozen=True):
    """One variable that feeds one field."""

    variable: str
    path: str
    line: int
    column: int
    parser: str
    """How its text is read; empty where nothing says so."""
    owner: str
    """What is said to be fed: an owner path in a table, else `Class.field`."""
    setting: OwnedSetting | None
    """None where there is no such field."""


def find_aliases(
    policy: ConfigPolicy, program: Program, settings: Sequence[OwnedSetting], uses: Mapping[str, FileUses]
) -> list[Alias]:
    """Every alias of every field, and those of fields that do not exist."""
    found = [*_tables(policy, program, settings), *_implied(policy, settings)]
    # Classes that inherit a field have its aliases in common.
    reads = {path: read for path, said in uses.items() if (read := [use for use in said.uses if _names_one(use)])}
    for setting in {setting.setting.key: setting for setting in reversed(settings)}.values():
        found += _declared(policy, setting, reads.get(setting.setting.key.owner.path, []))
    return list({(alias.variable, alias.path, alias.line, alias.owner): alias for alias in found}.values())


def string_values(written: str) -> list[str]:
    """The string literals of an expression: `"A"`, `("A", "B")`, `AliasChoices("A", "B")`."""
    from analyzers.python.parsing import parse_expression

    node = parse_expression(written)
    if node is None:
        return []
    return [item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _tables(policy: ConfigPolicy, program: Program, settings: Sequence[OwnedSetting]) -> Iterator[Alias]:
    by_path: dict[str, OwnedSetting] = {}
    for setting in settings if policy.aliases else ():
        for name in (setting.label, *(path.path for path in setting.paths)):
            by_path.setdefault(name, setting)
    for entry in policy.aliases:
        place = program.table(entry.table)
        for record in program.outline(place[0]).tables[place[1]] if place else ():
            variable = record.key or record.arguments.get(entry.name, "")
            owner = record.value or record.arguments.get(entry.owner, "")
            if place and variable and owner:
                parser = record.arguments.get(entry.parser, "")
                yield Alias(variable, place[0], record.line, record.column, parser, owner, by_path.get(owner))


def _names_one(use: Use) -> bool:
    return use.reads and not use.is_dynamic


def _declared(policy: ConfigPolicy, setting: OwnedSetting, reads: Sequence[Use]) -> Iterator[Alias]:
    """The aliases that the class itself declares, or reads in a default or in a method."""
    fact, path = setting.setting.fact, setting.setting.owner.path
    for written in (fact.keywords[key] for key in policy.alias_keys if key in fact.keywords):
        for variable in string_values(written):
            yield Alias(variable, path, fact.line, fact.column, "", setting.label, setting)
    if not reads:
        return
    spans = [(fact.line, fact.end_line)]
    for method in setting.owner.methods.values():
        if method.owner == setting.setting.owner:
            spans += [(first, last) for name, first, last in method.fact.assigned if name == fact.name]
    for use in reads:
        if any(first <= use.line <= last for first, last in spans):
            yield Alias(use.name, path, use.line, use.column, "", setting.label, setting)


def _implied(policy: ConfigPolicy, settings: Iterable[OwnedSetting]) -> Iterator[Alias]:
    """The variables that a pydantic settings class reads because of the names of fields that name none themselves."""
    prefixes: dict[Definition, str | None] = {}
    for setting in settings:
        owner, fact = setting.owner, setting.setting.fact
        if owner.definition not in prefixes:
            reads = any(last_part(base) == "BaseSettings" for said in owner.facts for base in said.bases)
            named = next((said.environment_prefix for said in owner.facts if said.environment_prefix), "")
            prefixes[owner.definition] = named if reads else None
        prefix = prefixes[owner.definition]
        if prefix is not None and not fact.keywords.keys() & policy.alias_keys:
            variable, path = f"{prefix}{fact.name}".upper(), setting.setting.owner.path
            yield Alias(variable, path, fact.line, fact.column, "", setting.label, setting)
