"""From the configuration of a tree to findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from analyzers.configuration.classes import FieldKey
from analyzers.configuration.configuration import Configuration, names_of
from analyzers.configuration.hashing import HashMethod
from analyzers.configuration.ownership import OwnedSetting
from analyzers.finding import Finding, place_of
from analyzers.globs import matcher
from analyzers.nearest import nearest


def analyse(configuration: Configuration) -> list[Finding]:
    """Every place that breaks a rule, without fingerprints and in no particular order."""
    found = (
        *_unowned_classes(configuration),
        *_ambiguous_aliases(configuration),
        *_unread_fields(configuration),
        *_unhashed_fields(configuration),
        *_foreign_reads(configuration),
        *_mutable_globals(configuration),
        *_doubled_resources(configuration),
        *_dangling_aliases(configuration),
        *_unparsed_files(configuration),
    )
    # A field that several classes inherit is one place.
    return list({place_of(finding): finding for finding in reversed(found)}.values())


def _unowned_classes(configuration: Configuration) -> Iterator[Finding]:
    """CFG001."""
    import regex

    ownership = configuration.ownership
    wanted = regex.compile(configuration.policy.classes or ".*")
    used = ownership.ancestors()
    roots = configuration.policy.roots
    start = f"`{roots[0]}`" if len(roots) == 1 else f"any of the {len(roots)} roots"
    classes = ownership.classes
    for definition in configuration.package_classes:
        if definition in used or not classes.is_record(definition) or classes.is_value(definition):
            continue
        if not wanted.fullmatch(definition.name.rpartition(".")[2]):
            continue
        fact = configuration.program.class_fact(definition)
        yield Finding(
            rule="CFG001",
            path=definition.path,
            line=fact.line,
            column=fact.column,
            symbol=definition.name,
            subject=definition.name,
            message=f"`{definition.name}` is configuration that no root owns: no annotation leads to it from {start}",
            hint="Give it a field in the class that should own it, or move it out of the configuration package.",
        )


def _ambiguous_aliases(configuration: Configuration) -> Iterator[Finding]:
    """CFG002."""
    fed: dict[str, dict[FieldKey, OwnedSetting]] = defaultdict(dict)
    for alias in configuration.aliases:
        if alias.setting is not None:
            fed[alias.variable].setdefault(alias.setting.setting.key, alias.setting)
    for alias in configuration.aliases:
        if alias.setting is None or len(fed[alias.variable]) < 2:
            continue
        own = alias.setting.setting.key
        others = sorted(setting.label for key, setting in fed[alias.variable].items() if key != own)
        yield Finding(
            rule="CFG002",
            path=alias.path,
            line=alias.line,
            column=alias.column,
            symbol="",
            subject=f"{alias.variable}: {alias.setting.label}",
            message=f"`{alias.variable}` feeds {alias.setting.label} and also {', '.join(others)}",
            hint="Let it feed one field, and derive the others from that field, or give each a variable of its own.",
        )


def _unread_fields(configuration: Configuration) -> Iterator[Finding]:
    """CFG003."""
    for setting in configuration.unread():
        yield _at_field(
            setting,
            rule="CFG003",
            message=f"nothing reads {setting.label}{_as_owned(setting)}",
            hint="Use it where its value should matter, or delete it: whoever sets it now believes in an effect.",
        )


def _unhashed_fields(configuration: Configuration) -> Iterator[Finding]:
    """CFG004."""
    for setting in configuration.settings:
        name = setting.setting.fact.name
        for method in configuration.policy.hash_methods:
            found = setting.owner.methods.get(method)
            if found is None or name.startswith("_") or HashMethod(setting.owner, found).takes(name):
                continue
            if not configuration.is_diagnostic(setting):
                yield _at_field(
                    setting,
                    rule="CFG004",
                    message=f"{setting.label} is not part of {found.owner.name}.{method} and not declared diagnostic",
                    hint="Add it to the hash, or declare that it cannot change what is computed: in its metadata, in"
                    " the hash method's list of what to ignore, or under `diagnostic` in the settings.",
                )


def _foreign_reads(configuration: Configuration) -> Iterator[Finding]:
    """CFG005."""
    owners: dict[str, set[str]] = defaultdict(set)
    labels: dict[str, str] = {}
    for alias in configuration.aliases:
        if alias.setting is not None:
            owners[alias.variable] |= {alias.path, alias.setting.setting.owner.path}
            labels.setdefault(alias.variable, alias.setting.label)
    may_read = matcher(configuration.policy.environment_owners)
    for path, said in configuration.uses.items():
        for use in said.uses:
            if not use.reads or use.name not in owners or path in owners[use.name] or may_read(path):
                continue
            yield Finding(
                rule="CFG005",
                path=path,
                line=use.line,
                column=use.column,
                symbol=use.symbol,
                subject=use.name,
                message=f"reads `{use.name}` from the environment, which feeds {labels[use.name]}",
                hint=f"Read {labels[use.name]} of the configuration: it knows defaults, other sources and overrides.",
            )


def _mutable_globals(configuration: Configuration) -> Iterator[Finding]:
    """CFG006."""
    for path in configuration.package:
        for found in configuration.program.outline(path).mutable_globals:
            yield Finding(
                rule="CFG006",
                path=path,
                line=found.line,
                column=found.column,
                symbol="",
                subject=found.name,
                message=f"`{found.name}` is state of the whole process in a configuration module: {found.how}",
                hint="Keep it in an object that its users are given, or make it a constant: a tuple, a frozenset, a"
                " MappingProxyType.",
            )


def _doubled_resources(configuration: Configuration) -> Iterator[Finding]:
    """CFG007."""
    import regex

    for resource in configuration.policy.resources:
        speaks = regex.compile(resource.fields)
        for setting in configuration.settings:
            if speaks.fullmatch(setting.setting.fact.name) and resource.owner not in names_of(setting):
                yield _at_field(
                    setting,
                    rule="CFG007",
                    message=f"{setting.label} decides on {resource.name}, which {resource.owner} owns",
                    hint=f"Derive it from {resource.owner}, or make this field the owner in the settings.",
                )


def _dangling_aliases(configuration: Configuration) -> Iterator[Finding]:
    """CFG008."""
    dangling = [alias for alias in configuration.aliases if alias.setting is None]
    known = {name for setting in configuration.settings for name in names_of(setting)} if dangling else set()
    for alias in dangling:
        near = nearest(alias.owner, known)
        yield Finding(
            rule="CFG008",
            path=alias.path,
            line=alias.line,
            column=alias.column,
            symbol="",
            subject=f"{alias.variable}: {alias.owner}",
            message=f"`{alias.variable}` feeds `{alias.owner}`, which is no field",
            hint=f"Did you mean `{near}`?" if near else "Name the owner path of a field, or drop the variable.",
        )


def _unparsed_files(configuration: Configuration) -> Iterator[Finding]:
    """CFG009."""
    for path in configuration.unparsed:
        yield Finding(
            rule="CFG009",
            path=path,
            line=0,
            column=0,
            symbol="",
            subject="",
            message="speaks of configuration and cannot be read by the Python that runs the gates",
            hint="Run the gates with the Python that the file is written for, or simplify what it cannot parse.",
        )


def _at_field(setting: OwnedSetting, *, rule: str, message: str, hint: str) -> Finding:
    fact, owner = setting.setting.fact, setting.setting.owner
    return Finding(rule, owner.path, fact.line, fact.column, owner.name, fact.name, message, hint)


def _as_owned(setting: OwnedSetting) -> str:
    return f" (`{setting.paths[0].path}`)" if setting.paths else ""
