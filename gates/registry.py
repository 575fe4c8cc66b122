"""The gates there are, imported only when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from analyzers.finding import Rule
from gates.gate import Gate
from gates.settings.model import Settings

_MODULES = {"layering": "gates.layering", "docs": "gates.docs"}
NAMES = tuple(_MODULES)


def gate(name: str) -> Gate:
    return cast(Gate, import_module(_MODULES[name]).GATE)


def configured(settings: Settings) -> tuple[str, ...]:
    """The gates that the settings have a table for."""
    return tuple(name for name in NAMES if getattr(settings, name) is not None)


def all_rules() -> dict[str, Rule]:
    """Every rule of the suite by its code."""
    import analyzers.rules
    import gates.baseline.rules

    shared = (*analyzers.rules.RULES, *gates.baseline.rules.RULES)
    rules = [*shared, *(rule for name in NAMES for rule in gate(name).rules)]
    return {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}
