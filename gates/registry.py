"""The gates there are, imported only when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import cast

import analyzers.rules
import gates.baseline.rules
from analyzers.finding import Rule
from gates.gate import Gate, Judge
from gates.settings.model import Settings

_MODULES = {
    "layering": "gates.layering",
    "docs": "gates.docs",
    "config": "gates.config",
    "routes": "gates.routes",
    "env": "gates.env",
    "reference": "gates.reference",
}
_REVIEWS = {"evidence": "gates.evidence"}
_RULES = (
    "analyzers.layering.rules",
    "analyzers.doclinks.rules",
    "analyzers.configuration.rules",
    "analyzers.routes.rules",
    "analyzers.environment.rules",
    "analyzers.reference.rules",
    "analyzers.evidence.rules",
)
"""The pages of the gates' rules, which can be read without the gates."""
NAMES = tuple(_MODULES)
REVIEWS = tuple(_REVIEWS)
"""What judges a change, and not a tree: it needs to be told of one, so `gates check` leaves it out."""
SHARED_RULES = (*analyzers.rules.RULES, *gates.baseline.rules.RULES)
"""Rules about sources, baselines and waivers, which every gate answers for."""


def gate(name: str) -> Gate:
    return cast(Gate, import_module(_MODULES[name]).GATE)


def review(name: str) -> Judge:
    return cast(Judge, import_module(_REVIEWS[name]).REVIEW)


def configured(settings: Settings) -> tuple[str, ...]:
    """The gates that the settings have a table for."""
    return tuple(name for name in NAMES if getattr(settings, name) is not None)


def all_rules() -> dict[str, Rule]:
    """Every rule of the suite by its code."""
    rules = [*SHARED_RULES, *(rule for module in _RULES for rule in import_module(module).RULES)]
    return {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}
