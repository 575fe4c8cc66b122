"""The root table: `[tool.gates]`, or the whole of gates.toml."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from msgspec import defstruct

from analyzers.policy import Glob, Table, Text

if TYPE_CHECKING:
    from analyzers.configuration.policy import ConfigPolicy
    from analyzers.doclinks.policy import DocsPolicy
    from analyzers.environment.policy import EnvironmentPolicy
    from analyzers.evidence.policy import EvidencePolicy
    from analyzers.layering.policy import LayeringPolicy
    from analyzers.reference.policy import ReferencePolicy
    from analyzers.routes.policy import RoutesPolicy

_POLICIES = {
    "layering": ("analyzers.layering.policy", "LayeringPolicy"),
    "docs": ("analyzers.doclinks.policy", "DocsPolicy"),
    "config": ("analyzers.configuration.policy", "ConfigPolicy"),
    "routes": ("analyzers.routes.policy", "RoutesPolicy"),
    "env": ("analyzers.environment.policy", "EnvironmentPolicy"),
    "reference": ("analyzers.reference.policy", "ReferencePolicy"),
    "evidence": ("analyzers.evidence.policy", "EvidencePolicy"),
}
"""Where the model of each gate's table is."""


class Waiver(Table):
    """Findings that may stand until a date, because a named person gave a reason."""

    rule: str
    scope: Glob
    owner: Text
    reason: Text
    expires: datetime.date


class Settings(Table):
    """The root table; `settings_model` adds the tables of the gates."""

    exclude: tuple[Glob, ...] = ()
    source_roots: tuple[str, ...] = ()
    """Folders that Python's import path starts from; detected where none is named."""
    baselines: str = "baselines"
    waivers: tuple[Waiver, ...] = ()
    if TYPE_CHECKING:
        layering: LayeringPolicy | None = None
        docs: DocsPolicy | None = None
        config: ConfigPolicy | None = None
        routes: RoutesPolicy | None = None
        env: EnvironmentPolicy | None = None
        reference: ReferencePolicy | None = None
        evidence: EvidencePolicy | None = None


def settings_model(tables: Collection[str] = tuple(_POLICIES)) -> type[Settings]:
    """The model of a root table that holds the tables of some gates; those of the others are None.

    Most trees have a few: to import and to build the models of all would make each start a tenth slower.
    """
    return _model(frozenset(_POLICIES.keys() & set(tables)))


@cache
def _model(tables: frozenset[str]) -> type[Settings]:
    """Settings of equal tables are of one class, so that they can be compared."""
    fields = [(name, _policy(name) if name in tables else None, None) for name in _POLICIES]
    return cast("type[Settings]", defstruct("Settings", fields, bases=(Settings,), module=__name__, frozen=True))


def _policy(name: str) -> Any:
    module, policy = _POLICIES[name]
    return getattr(import_module(module), policy) | None
