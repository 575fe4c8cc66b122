"""The files that may get at configuration. Only those are parsed of which words do not tell enough."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set

from analyzers.configuration.attribute_names import ANYTHING, AttributeNames, AttributeNamesExtractor
from analyzers.configuration.importers import importers
from analyzers.configuration.outline import Outline, TypeName
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.program import Definition, Program
from analyzers.configuration.reads import FileReads, ReadsExtractor, Vocabulary
from analyzers.facts import FactBase, Need
from analyzers.layering.modules import Modules
from analyzers.python.extractor import PythonExtractor
from analyzers.python.facts import PythonFacts
from analyzers.python.nodes import last_part

_Typed = tuple[str, list[TypeName]]
"""A name, and the types of what it stands for."""


class Readers:
    """The files of the packages, and those in which an owned class or a function that returns one may be imported."""

    def __init__(self, ownership: Ownership, modules: Modules, package: Collection[str], facts: FactBase) -> None:
        self.facts = facts
        self.names = {path: AttributeNames(*fact) for path, fact in facts.of(AttributeNamesExtractor()).items()}
        """What every file of the tree says of attributes."""
        self._modules = modules
        self._program = ownership.classes.program
        self._python = facts.seen(PythonExtractor(), PythonFacts)
        self._package = frozenset(package)
        vocabulary, homes = _leading_to(self._program, ownership.paths, _functions)
        self.vocabulary = Vocabulary(tuple(sorted(vocabulary)))
        self._paths = sorted(self.importing(vocabulary, homes) | self._package)

    def importing(self, names: Collection[str], homes: Set[str]) -> set[str]:
        """The files in which one of some names, each defined in one of the files `homes`, may stand."""
        return importers(self._modules, self._python, homes, names) | homes

    def has_class(self, path: str) -> bool:
        """Whether a file defines a class."""
        return path in self._python and self._python[path].has_class

    def needs(self, paths: Iterable[str] | None = None, vocabulary: Vocabulary | None = None) -> list[Need]:
        """What to gather of some of the files, or of all.

        Args:
            paths: the files; all that get at configuration where None.
            vocabulary: what to look for; names of configuration alone where None.
        """
        words = vocabulary or self.vocabulary
        chosen: dict[bool, list[str]] = {}
        for path in self._paths if paths is None else paths:
            chosen.setdefault(path in self._package, []).append(path)
        # In the packages an object needs no name to be configuration.
        return [Need(ReadsExtractor(words, unnamed=unnamed), some) for unnamed, some in chosen.items()]

    def read(self, paths: Iterable[str] | None = None, vocabulary: Vocabulary | None = None) -> dict[str, FileReads]:
        """Parse files, and look for what they get at; the arguments are those of `needs`."""
        needs = self.needs(paths, vocabulary)
        self.facts.gather(needs)
        return {
            path: FileReads(fact) for need in needs for path, fact in self.facts.of(need.extractor, need.paths).items()
        }

    def doubtful(self) -> Iterator[str]:
        """The files that may not parse although they hold no syntax error."""
        return (path for path, said in self._words() if not said.parses)

    def unsure_of(self, fields: Set[str]) -> Iterator[str]:
        """The files that may read one of some fields, by a name of which only types tell what it stands for."""
        return (path for path, said in self._words() if not fields.isdisjoint(said.unsure.split()))

    def spreading(self, classes: Collection[Definition]) -> Iterator[str]:
        """The files that may hand on every field of an instance of one of some classes."""
        names, homes = _leading_to(self._program, classes, _everything)
        names.add("*")
        for path, said in self._words():
            leading: Sequence[str] = said.spreads.split()
            if ANYTHING in leading and path not in homes:
                leading = (*said.names.split(), *said.unsure.split(), *self._python[path].import_words)
            if not names.isdisjoint(leading):
                yield path

    def _words(self) -> Iterator[tuple[str, AttributeNames]]:
        return ((path, self.names[path]) for path in self._paths if path in self.names)


def _leading_to(
    program: Program, classes: Collection[Definition], typed: Callable[[Outline], Iterable[_Typed]]
) -> tuple[set[str], set[str]]:
    """The names one of which a file holds if it gets at an instance of some classes, and the files that these names
    come from.

    Args:
        program: the files that may give the classes names.
        classes: those that matter; only the last part of a name counts.
        typed: what in a file gives an instance and has a name, and the types of its value.
    """
    names = {last_part(definition.name) for definition in classes}
    homes = {definition.path for definition in classes}
    for path, outline in program.outlines.items():
        found = {
            name
            for name, types in typed(outline)
            if any(definition in classes for definition, _ in program.types(path, types))
        }
        renamed = (name for name, binding in outline.imports.items() if binding.name not in ("", name))
        found.update(name for name in renamed if program.resolve(path, name) in classes)
        if found:
            names |= found
            homes.add(path)
    return names, homes


def _functions(outline: Outline) -> Iterable[_Typed]:
    return outline.functions.items()


def _everything(outline: Outline) -> Iterator[_Typed]:
    """Everything in a file that has a name and says what types its value is of."""
    yield from outline.functions.items()
    yield from outline.aliases.items()
    for declared in outline.classes.values():
        yield from ((field.name, field.types) for field in declared.fields)
        yield from ((method.name, method.returns) for method in declared.methods)
