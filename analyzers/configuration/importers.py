"""Which files import something, however often it is handed on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from analyzers.configuration.annotations import last_part
from analyzers.layering.modules import Modules
from analyzers.layering.resolution import Resolver
from analyzers.python.facts import ImportFlag, PythonFacts, read_clause


class _Clause(NamedTuple):
    """An import that may lead to what is looked for."""

    path: str
    targets: tuple[int | str, ...]


def importers(modules: Modules, facts: Mapping[str, Any], homes: Collection[str], names: Collection[str]) -> set[str]:
    """The files that import one of the modules in some files, or one of the names from these or from an importer.

    Args:
        modules: the modules of the tree.
        facts: what `PythonExtractor` says of each file.
        homes: the files in which the names are defined.
        names: last parts of the names.
    """
    clauses = list(_clauses(modules, facts, homes, names))
    known = {modules.number[path] for path in homes}
    found: set[str] = set()
    while True:
        fresh = {clause.path for clause in clauses if not known.isdisjoint(clause.targets)} - found
        if not fresh:
            return found
        found |= fresh
        known.update(modules.number[path] for path in fresh)


def _clauses(
    modules: Modules, facts: Mapping[str, Any], homes: Collection[str], names: Collection[str]
) -> Iterator[_Clause]:
    """The imports that take one of the names, everything, or a module."""
    resolver = Resolver(modules, ())
    places = [modules.names[modules.number[path]] for path in homes]
    wanted = {*names, *map(last_part, places), "*"}
    spoken = wanted.union(*map(_and_above, places))
    for path, fact in facts.items():
        clauses = PythonFacts(fact).clauses
        if spoken.isdisjoint(" ".join(clauses).split()):
            continue
        folder = resolver.folder(path.rpartition("/")[0])
        for clause in clauses:
            level, flags, module, taken = read_clause(clause)
            if not taken or not wanted.isdisjoint(taken.split(" ")):
                yield _Clause(path, folder[level, flags & int(ImportFlag.LAZY)][module].all_of(taken))


def _and_above(module: str) -> Iterator[str]:
    """A dotted name, and the packages that it lies below."""
    while module:
        yield module
        module = module.rpartition(".")[0]
