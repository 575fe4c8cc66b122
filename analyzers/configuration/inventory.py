"""The full inventory of a tree's configuration, as JSON holds it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import asdict

from analyzers.configuration.aliases import Alias
from analyzers.configuration.classes import ConfigClass, Method
from analyzers.configuration.configuration import Configuration
from analyzers.configuration.consumers import Consumer, Dynamic
from analyzers.configuration.ownership import OwnedSetting, OwnerPath
from analyzers.python.nodes import last_part

VERSION = 1
"""Of the document's format; goes up when a reader of it would break."""


def inventory(configuration: Configuration) -> dict[str, Any]:
    """Every owned class and every parameter with its declaration, aliases and consumers."""
    by_name: dict[str, list[str]] = {}
    for path, said in sorted(configuration.readers.names.items()):
        for name in said.names.split():
            by_name.setdefault(name, []).append(path)
    return {
        "version": VERSION,
        "roots": list(configuration.policy.roots),
        "classes": [_class(configuration, owned) for owned in configuration.ownership],
        "parameters": [_parameter(configuration, setting, by_name) for setting in configuration.settings],
        "dynamic": [_dynamic(dynamic) for dynamic in configuration.consumers.dynamic],
        "unparsed": sorted({*configuration.unparsed, *configuration.readers.facts.problems}),
        "truncated": configuration.ownership.truncated,
    }


def _class(configuration: Configuration, owned: ConfigClass) -> dict[str, Any]:
    hashes = [*configuration.policy.hash_methods, "__hash__"]
    return {
        "name": owned.name,
        "path": owned.definition.path,
        "line": owned.fact.line,
        "bases": owned.fact.bases,
        "frozen": any(fact.frozen for fact in owned.facts),
        "owner_paths": _paths(configuration.ownership.paths[owned.definition]),
        "lifecycle": [_method(owned, method) for method in owned.lifecycle()],
        "hash": [_method(owned, owned.methods[name]) for name in dict.fromkeys(hashes) if name in owned.methods],
    }


def _method(owned: ConfigClass, method: Method) -> dict[str, Any]:
    inherited = method.owner.name if method.owner != owned.definition else None
    return {"name": method.fact.name, "path": method.owner.path, "line": method.fact.line, "inherited_from": inherited}


def _parameter(configuration: Configuration, setting: OwnedSetting, by_name: Mapping[str, list[str]]) -> dict[str, Any]:
    fact, declared = setting.setting.fact, setting.setting.owner
    consumers = configuration.consumers.fields.get(setting.setting.key, [])
    options = configuration.consumers.options.get(fact.name, [])
    known = {consumer.path for consumer in consumers}
    return {
        "name": fact.name,
        "owner": setting.owner.name,
        "declared_by": declared.name,
        "path": declared.path,
        "line": fact.line,
        "owner_paths": _paths(setting.paths),
        "annotation": fact.annotation,
        "default": setting.setting.default or None,
        "metadata": metadata(fact.keywords),
        "diagnostic": configuration.is_diagnostic(setting),
        "aliases": [_alias(alias) for alias in configuration.aliases_of(setting)],
        "parsers": [
            {"path": place.path, "line": place.option.line, "expression": place.option.expression} for place in options
        ],
        "consumers": [_consumer(consumer) for consumer in consumers],
        "possible_consumers": [path for path in by_name.get(fact.name, []) if path not in known],
    }


def metadata(keywords: Mapping[str, str]) -> dict[str, Any]:
    """What the constructor of a field is told beside the default; literals by their values, others as written."""
    described = {
        key: written for key, written in keywords.items() if last_part(key) not in ("default", "default_factory")
    }
    return {key: _value(written) for key, written in described.items()}


def _value(written: str) -> Any:
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return written
    return value if isinstance(value, str | int | float | bool | None) else written


def _paths(paths: Iterable[OwnerPath]) -> list[dict[str, str]]:
    return [asdict(path) for path in paths]


def _alias(alias: Alias) -> dict[str, Any]:
    return {"variable": alias.variable, "path": alias.path, "line": alias.line, "parser": alias.parser or None}


def _consumer(consumer: Consumer) -> dict[str, Any]:
    return consumer._asdict()


def _dynamic(dynamic: Dynamic) -> dict[str, Any]:
    owner = dynamic.owner.name if dynamic.owner is not None else None
    return {**dynamic.consumer._asdict(), "owner": owner, "expression": dynamic.chain}
