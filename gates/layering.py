"""The layering gate: layers, coupling and shape."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from analyzers.facts import FactBase, Need
from analyzers.finding import Finding
from analyzers.layering.analyse import analyse
from analyzers.layering.coupling import CouplingExtractor, observed_files
from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy
from analyzers.layering.policy_check import check_policy
from analyzers.layering.rules import RULES
from analyzers.policy import Misfit
from analyzers.python.extractor import PythonExtractor
from analyzers.python.facts import PythonFacts
from gates.gate import Context

_KEY_PART = re.compile(r"[\w-]+")


class Inputs(NamedTuple):
    """What the analyser is given."""

    policy: LayeringPolicy
    modules: Modules
    facts: Mapping[str, PythonFacts]
    coupling: Mapping[str, Sequence[Sequence[Any]]]


class LayeringGate:
    name = "layering"
    summary = "who may import whom, who may name what, and how large things may get"
    rules = RULES

    def needs(self, context: Context) -> list[Need]:
        policy = self._policy(context)
        modules = context.modules
        if not context.past:
            self._check(policy, modules, context)
        needs = [Need(PythonExtractor(), modules.paths)]
        if policy.coupling:
            watched = observed_files(policy.coupling, context.paths)
            needs.append(Need(CouplingExtractor.of(policy.coupling), watched))
        return needs

    def inputs(self, context: Context, facts: FactBase) -> Inputs:
        policy = self._policy(context)
        python = facts.seen(PythonExtractor(), PythonFacts)
        coupling = facts.of(CouplingExtractor.of(policy.coupling)) if policy.coupling else {}
        return Inputs(policy, context.modules, python, coupling)

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        return analyse(*self.inputs(context, facts), facts.cache)

    def _policy(self, context: Context) -> LayeringPolicy:
        policy = context.settings.layering
        if policy is None or policy == LayeringPolicy(type_checking_imports=policy.type_checking_imports):
            raise context.loaded.error(
                ("layering",),
                "nothing to check: add a contract, a coupling pattern or a shape budget; `gates init` suggests some",
            )
        return policy

    def _check(self, policy: LayeringPolicy, modules: Modules, context: Context) -> None:
        """Refuse settings that do not fit the tree."""
        context.refuse(
            Misfit(_key(problem.key), f"{problem.value!r}: {problem.message}", problem.nearest)
            for problem in check_policy(policy, modules, context.paths)
        )


def _key(place: str) -> tuple[str | int, ...]:
    """`layering.layers[0].order[2]` as the parts that it is made of."""
    return tuple(int(part) if part.isdigit() else part for part in _KEY_PART.findall(place))


GATE = LayeringGate()
