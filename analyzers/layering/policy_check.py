"""What a layering policy says that the tree contradicts: names of modules that are not there, and their like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analyzers.layering.layers import layers_of, split_level
from analyzers.layering.modules import Modules, pattern_matcher
from analyzers.layering.policy import ForbiddenContract, LayeringPolicy, LayersContract, ProtectedContract


class PolicyProblem(NamedTuple):
    """One setting that cannot be meant."""

    key: str
    """Where it stands, as `layering.layers[0].order[2]`."""
    value: str
    message: str
    nearest: str = ""
    """What was probably meant; empty where nothing is near."""


def check_policy(policy: LayeringPolicy, modules: Modules) -> list[PolicyProblem]:
    """Everything about the contracts that would make them look at nothing, or at something else than they say."""
    return list(_Checker(modules).problems(policy))


class _Checker:
    def __init__(self, modules: Modules) -> None:
        self._names = set(modules.names)
        for name in modules.names:
            while name := name.rpartition(".")[0]:
                self._names.add(name)

    def problems(self, policy: LayeringPolicy) -> Iterator[PolicyProblem]:
        for kind in ("layers", "forbidden", "acyclic", "protected"):
            yield from _repeated_names(f"layering.{kind}", [contract.name for contract in getattr(policy, kind)])
        for index, layers in enumerate(policy.layers):
            yield from self._layers(f"layering.layers[{index}]", layers)
        for index, forbidden in enumerate(policy.forbidden):
            yield from self._forbidden(f"layering.forbidden[{index}]", forbidden)
        for index, acyclic in enumerate(policy.acyclic):
            if acyclic.within:
                yield from self._present(f"layering.acyclic[{index}].within", acyclic.within)
        for index, protected in enumerate(policy.protected):
            yield from self._protected(f"layering.protected[{index}]", protected)

    def _layers(self, key: str, contract: LayersContract) -> Iterator[PolicyProblem]:
        if contract.within and not self._exists(contract.within):
            yield from self._present(f"{key}.within", contract.within)
            return
        prefix = f"{contract.within}." if contract.within else ""
        for level, line in enumerate(contract.order):
            place = f"{key}.order[{level}]"
            if "|" in line and ":" in line:
                yield PolicyProblem(place, line, "siblings are separated by `|` or by `:`, not by both")
            for name in split_level(line):
                if name:
                    yield from self._present(place, name, prefix)
                else:
                    yield PolicyProblem(place, line, "a layer has no name")
        times = Counter(layer.pattern for layer in layers_of(contract))
        for pattern, count in times.items():
            if count > 1 and pattern != prefix:
                yield PolicyProblem(f"{key}.order", pattern, f"the layer is named {count} times")

    def _forbidden(self, key: str, contract: ForbiddenContract) -> Iterator[PolicyProblem]:
        for index, pattern in enumerate(contract.from_):
            yield from self._present(f"{key}.from[{index}]", pattern)
        for index, pattern in enumerate(contract.to):
            yield from self._present_or_external(f"{key}.to[{index}]", pattern)
        for index, (importer, imported) in enumerate(contract.except_):
            yield from self._present(f"{key}.except[{index}][0]", importer)
            yield from self._present_or_external(f"{key}.except[{index}][1]", imported)

    def _protected(self, key: str, contract: ProtectedContract) -> Iterator[PolicyProblem]:
        for index, pattern in enumerate(contract.modules):
            yield from self._present_or_external(f"{key}.modules[{index}]", pattern)
        for index, pattern in enumerate(contract.importers):
            yield from self._present(f"{key}.importers[{index}]", pattern)

    def _present(self, key: str, pattern: str, prefix: str = "") -> Iterator[PolicyProblem]:
        if not self._exists(prefix + pattern):
            yield PolicyProblem(key, pattern, "no module has this name", self._nearest(pattern, prefix))

    def _present_or_external(self, key: str, pattern: str) -> Iterator[PolicyProblem]:
        """A name whose first part the tree does not know is one of the world outside."""
        if self._exists(pattern.partition(".")[0]):
            yield from self._present(key, pattern)

    def _exists(self, pattern: str) -> bool:
        covers = pattern_matcher([pattern])
        return pattern in self._names or any(covers(name) for name in self._names)

    def _nearest(self, pattern: str, prefix: str) -> str:
        from difflib import get_close_matches

        depth = (prefix + pattern).count(".")
        same_depth = [
            name.removeprefix(prefix) for name in self._names if name.startswith(prefix) and name.count(".") == depth
        ]
        return next(iter(get_close_matches(pattern, sorted(same_depth), 1)), "")


def _repeated_names(key: str, names: Sequence[str]) -> Iterator[PolicyProblem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield PolicyProblem(key, name, f"{count} contracts have this name; findings could not be told apart")
