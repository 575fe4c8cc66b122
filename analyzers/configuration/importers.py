"""Which files may import something, however often it is handed on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from analyzers.layering.modules import Modules
from analyzers.python.facts import PythonFacts
from analyzers.python.nodes import last_part


def importers(
    modules: Modules, facts: Mapping[str, PythonFacts], homes: Collection[str], names: Collection[str]
) -> set[str]:
    """The files that speak, in an import, of one of the names or of a module that holds them or imports them.

    Where the import leads is not asked: that would cost more than to look into the few files that mean another module
    of such a name.

    Args:
        modules: the modules of the tree.
        facts: what each file says.
        homes: the files in which the names are defined.
        names: last parts of the names.
    """
    places = {modules.names[modules.number[path]] for path in homes}
    wanted = {*names, *map(last_part, places), "*"}
    clauses = {path: said.clauses for path, said in facts.items()}
    distinct = set().union(*clauses.values())
    telling = {clause for clause in distinct if not wanted.isdisjoint(clause.split())}
    found = {path for path, said in clauses.items() if not telling.isdisjoint(said)}
    naming = _importers_by_module(modules, {path: clauses[path] for path in clauses.keys() - found}, distinct)
    fresh = found
    while fresh:
        places.update(modules.names[modules.number[path]] for path in fresh)
        fresh = {path for place in places & naming.keys() for path in naming[place]} - found
        found |= fresh
    return found


def _importers_by_module(
    modules: Modules, clauses: Mapping[str, Collection[str]], distinct: Collection[str]
) -> Mapping[str, Collection[str]]:
    """By module of the tree, the files that import it as such: `import a.b`."""
    inside = frozenset(modules.names)
    whole = {clause: clause.split(" ")[2] for clause in distinct if clause.endswith(" ")}
    whole = {clause: module for clause, module in whole.items() if module in inside}
    naming: defaultdict[str, list[str]] = defaultdict(list)
    for path, said in clauses.items():
        for clause in whole.keys() & said:
            naming[whole[clause]].append(path)
    return naming
