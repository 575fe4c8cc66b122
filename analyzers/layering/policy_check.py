"""What a layering policy says that the tree contradicts: names of modules that are not there, and their like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from analyzers.globs import matcher
from analyzers.layering.coupling import PYTHON_SUFFIXES
from analyzers.layering.layers import layers_of, split_level
from analyzers.layering.modules import Modules, pattern_matcher
from analyzers.layering.policy import (
    CouplingPattern,
    ForbiddenContract,
    LayeringPolicy,
    LayersContract,
    ProtectedContract,
)
from analyzers.nearest import nearest


class PolicyProblem(Struct, frozen=True):
    """One setting that cannot be meant."""

    key: str
    """Where it stands, as `layering.layers[0].order[2]`."""
    value: str
    message: str
    nearest: str = ""
    """What was probably meant; empty where nothing is near."""


def check_policy(policy: LayeringPolicy, modules: Modules, paths: Iterable[str]) -> list[PolicyProblem]:
    """Everything about the policy that would make it look at nothing, or at something else than it says.

    Args:
        policy: the settings.
        modules: the modules of the tree.
        paths: every file of the tree, whether a module or not.
    """
    problems = [*_Checker(modules).problems(policy)]
    if policy.coupling:
        paths = list(paths)
        for index, pattern in enumerate(policy.coupling):
            problems += _unwatching(f"layering.coupling[{index}]", pattern, paths)
    return problems


class _Checker:
    def __init__(self, modules: Modules) -> None:
        self._names = set(modules.names)
        for name in modules.names:
            while (name := name.rpartition(".")[0]) and name not in self._names:
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
        elsewhere = [n for n in self._names if n.startswith(prefix) and n.endswith(f".{pattern}")]
        if elsewhere:
            return min(elsewhere, key=lambda name: (name.count("."), name)).removeprefix(prefix)
        depth = (prefix + pattern).count(".")
        same_depth = [
            name.removeprefix(prefix) for name in self._names if name.startswith(prefix) and name.count(".") == depth
        ]
        return nearest(pattern, same_depth)


def _repeated_names(key: str, names: Sequence[str]) -> Iterator[PolicyProblem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            message = "another contract has this name; findings could not be told apart"
            yield PolicyProblem(f"{key}[{index}].name", name, message)


def _unwatching(key: str, pattern: CouplingPattern, paths: Sequence[str]) -> Iterator[PolicyProblem]:
    """Complain of a coupling pattern that counts in no file of the tree, if it names files or owners."""
    if not pattern.names_files:
        return
    selected, owned = matcher(pattern.files), matcher(pattern.owners)
    told = ", ".join(pattern.files)

    def readable(path: str) -> bool:
        return selected(path) and (pattern.scope == "text" or path.endswith(PYTHON_SUFFIXES))

    if not any(map(selected, paths)):
        yield PolicyProblem(f"{key}.files", told, "no file matches", _nearest_glob(pattern.files, paths))
    elif not any(map(readable, paths)):
        message = f'no Python file matches, and only those have {pattern.scope}; `scope` may be "text"'
        yield PolicyProblem(f"{key}.files", told, message)
    elif all(owned(path) for path in paths if readable(path)):
        yield PolicyProblem(f"{key}.owners", ", ".join(pattern.owners), "owns every file that the pattern looks at")


def _nearest_glob(globs: Sequence[str], paths: Sequence[str]) -> str:
    """The first of the globs with its folders put right; empty where nothing is near."""
    glob = globs[0] if globs else ""
    parts = glob.strip("/").split("/")
    literal = next((index for index, part in enumerate(parts) if "*" in part or "?" in part or "[" in part), len(parts))
    heads = {"/".join(path.split("/")[:literal]) for path in paths}
    near = nearest("/".join(parts[:literal]), heads) if literal else ""
    return "/".join([near, *parts[literal:]]) if near else ""
