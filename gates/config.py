"""The config gate: who owns which setting."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from analyzers.configuration.analyse import analyse
from analyzers.configuration.configuration import Configuration, first_needs, read_configuration
from analyzers.configuration.policy import ConfigPolicy
from analyzers.configuration.policy_check import check_names, check_packages
from analyzers.configuration.rules import RULES
from analyzers.environment.extractor import UsesExtractor
from analyzers.facts import FactBase, Need
from analyzers.finding import Finding
from gates.gate import Context


class ConfigGate:
    name = "config"
    summary = "every setting has one owner, and somebody who reads it"
    rules = RULES

    def needs(self, context: Context) -> list[Need]:
        policy, modules = _policy(context), context.modules
        if not context.past:
            context.refuse(check_packages(policy, modules))
        *needs, last = first_needs(policy, modules, _uses(context))
        return [*needs, replace(last, then=lambda facts: configuration_of(context, facts).further_needs)]

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        return analyse(configuration_of(context, facts))


@lru_cache(maxsize=1)
def configuration_of(context: Context, facts: FactBase) -> Configuration:
    """The configuration of the tree, after the gate's needs have been gathered.

    Raises:
        SettingsError: the gate's table names what the tree does not have.
    """
    modules = context.modules
    configuration = read_configuration(_policy(context), modules, facts, _uses(context))
    if not context.past:
        context.refuse(check_names(configuration, modules))
    return configuration


def _policy(context: Context) -> ConfigPolicy:
    policy = context.settings.config
    if policy is None:
        raise context.loaded.error(("config",), "nothing to check: name the `roots` of the configuration")
    return policy


def _uses(context: Context) -> UsesExtractor:
    """What the environment gate reads, where it is set up: no file is then read twice, and its wrappers count here."""
    environment = context.settings.env
    return UsesExtractor() if environment is None else environment.extractor


GATE = ConfigGate()
