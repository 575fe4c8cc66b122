"""Which files may import something, however often it is handed on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from analyzers.layering.modules import Modules
from analyzers.python.facts import PythonFacts
from analyzers.python.nodes import last_part


def importers(modules: Modules, facts: Mapping[str, Any], homes: Collection[str], names: Collection[str]) -> set[str]:
    """The files that speak, in an import, of one of the names or of a module that holds them or imports them.

    Where the import leads is not asked: that would cost more than to look into the few files that mean another module
    of such a name.

    Args:
        modules: the modules of the tree.
        facts: what `PythonExtractor` says of each file.
        homes: the files in which the names are defined.
        names: last parts of the names.
    """
    places = {modules.names[modules.number[path]] for path in homes}
    wanted = {*names, *map(last_part, places), "*"}
    said = {path: PythonFacts(fact) for path, fact in facts.items()}
    found = {path for path in said if not wanted.isdisjoint(said[path].import_words)}
    whole = {path: said[path].whole_modules for path in said.keys() - found}
    fresh = found
    while fresh:
        places.update(modules.names[modules.number[path]] for path in fresh)
        fresh = {path for path in whole.keys() - found if not places.isdisjoint(whole[path])}
        found |= fresh
    return found
