"""The files that may get at configuration. Only those are parsed of which words do not tell enough."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set

from analyzers.configuration.attribute_names import AttributeNames, AttributeNamesExtractor
from analyzers.configuration.importers import importers
from analyzers.configuration.outline import Outline, TypeName
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.program import Definition
from analyzers.configuration.reads import FileReads, ReadsExtractor
from analyzers.facts import FactBase, Need
from analyzers.layering.modules import Modules
from analyzers.python.extractor import PythonExtractor
from analyzers.python.facts import PythonFacts
from analyzers.python.nodes import last_part


class Readers:
    """The files of the packages, and those in which an owned class or a function that returns one may be imported."""

    def __init__(self, ownership: Ownership, modules: Modules, package: Collection[str], facts: FactBase) -> None:
        self.facts = facts
        self.names = {path: AttributeNames(*fact) for path, fact in facts.of(AttributeNamesExtractor()).items()}
        """What every file of the tree says of attributes."""
        self._ownership = ownership
        vocabulary, homes = _vocabulary(ownership)
        names = tuple(sorted(vocabulary))
        found = importers(modules, facts.of(PythonExtractor()), homes, vocabulary) | homes
        named, any_object = ReadsExtractor(names), ReadsExtractor(names, unnamed=True)
        self._extractors = {**dict.fromkeys(sorted(found), named), **dict.fromkeys(package, any_object)}

    def read(self, paths: Iterable[str] | None = None) -> dict[str, FileReads]:
        """Parse some of the files, or all, and look for what they get at."""
        chosen: dict[ReadsExtractor, list[str]] = {}
        for path in self._extractors if paths is None else paths:
            chosen.setdefault(self._extractors[path], []).append(path)
        self.facts.gather([Need(extractor, some) for extractor, some in chosen.items()])
        return {
            path: FileReads(fact)
            for extractor, some in chosen.items()
            for path, fact in self.facts.of(extractor, some).items()
        }

    def doubtful(self) -> Iterator[str]:
        """The files that may not parse although they hold no syntax error."""
        return (path for path, said in self._words() if not said.parses)

    def unsure_of(self, fields: Set[str]) -> Iterator[str]:
        """The files that may read one of some fields, by a name of which only types tell what it stands for."""
        return (path for path, said in self._words() if not fields.isdisjoint(said.unsure.split()))

    def spreading(self, classes: Collection[Definition]) -> Iterator[str]:
        """The files that may hand on every field of an instance of one of some classes."""
        names, homes = _leading_to(self._ownership, classes)
        python = self.facts.of(PythonExtractor())
        for path, said in self._words():
            if said.spreads:
                words = (*said.names.split(), *said.unsure.split(), *PythonFacts(python[path]).import_words)
                if path in homes or not names.isdisjoint(words):
                    yield path

    def _words(self) -> Iterator[tuple[str, AttributeNames]]:
        return ((path, self.names[path]) for path in self._extractors if path in self.names)


def _vocabulary(ownership: Ownership) -> tuple[set[str], set[str]]:
    """The last parts of the names of the owned classes, also of those under which a file hands one on, and of the
    functions that return instances of them, and the files that these names come from."""
    program = ownership.classes.program
    names = {last_part(definition.name) for definition in ownership.paths}
    homes = {definition.path for definition in ownership.paths}
    for path, outline in program.outlines.items():
        for name, types in outline.functions.items():
            if any(definition in ownership for definition, _ in program.types(path, types)):
                names.add(name)
                homes.add(path)
        for name in _renamed(outline):
            if program.resolve(path, name) in ownership:
                names.add(name)
                homes.add(path)
    return names, homes


def _renamed(outline: Outline) -> Iterator[str]:
    """What a file imports under a name of its own."""
    return (name for name, binding in outline.imports.items() if binding.name not in ("", name))


def _leading_to(ownership: Ownership, classes: Collection[Definition]) -> tuple[set[str], set[str]]:
    """The names one of which a file holds if it gets at an instance of some classes, and the files that define some of
    these names and so need not import them."""
    program = ownership.classes.program
    names = {"*", *(last_part(definition.name) for definition in classes)}
    homes = {definition.path for definition in classes}
    for path, outline in program.outlines.items():
        found = {
            name
            for name, types in _typed(outline)
            if any(definition in classes for definition, _ in program.types(path, types))
        }
        found.update(name for name in _renamed(outline) if program.resolve(path, name) in classes)
        if found:
            names |= found
            homes.add(path)
    return names, homes


def _typed(outline: Outline) -> Iterator[tuple[str, list[TypeName]]]:
    """Everything in a file that has a name and says what types its value is of."""
    yield from outline.functions.items()
    yield from outline.aliases.items()
    for declared in outline.classes.values():
        yield from ((field.name, field.types) for field in declared.fields)
        yield from ((method.name, method.returns) for method in declared.methods)
