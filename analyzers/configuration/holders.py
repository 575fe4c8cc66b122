"""The files that get at configuration by way of other objects, which hold it in an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from analyzers.configuration.instances import Instances
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.readers import Readers
from analyzers.configuration.reads import Attribute, FileReads, Vocabulary
from analyzers.python.nodes import last_part


def read_with_holders(readers: Readers, ownership: Ownership) -> dict[str, FileReads]:
    """What all files get at, also by what a class of another file gives its instances, or a function its callers.

    This is looked for in the files that may name such a function or class, or one that inherits from it, however often.
    """
    found = readers.read()
    holding = [*_holding(readers, ownership, found)]
    functions = {said.name for _, said in holding if not said.owner}
    held = {said.name for _, said in holding if said.owner}
    fresh = {(path, last_part(said.owner)) for path, said in holding if said.owner}
    classes = {name for _, name in fresh}
    words = Vocabulary(*map(_sorted, ({*readers.vocabulary.records, *functions}, classes, held)))
    homes = {path for path, said in holding if not said.owner}
    through = readers.read(sorted(readers.importing(functions, homes)), words)

    def may_hold(path: str) -> bool:
        names = readers.names[path].names.split() if path in readers.names else ()
        return readers.has_class(path) or not held.isdisjoint(names)

    known: set[str] = set()
    while fresh:
        names = {name for _, name in fresh}
        known |= names
        near = readers.importing(names, {path for path, _ in fresh}) - through.keys()
        through |= readers.read(sorted(filter(may_hold, near)), words)
        fresh = {heir for heir in _heirs(through, known) if heir[1] not in known}
    # What is done with an object of which nothing is known matters only in files that name configuration.
    naming = {path for path, said in found.items() if said.stored}
    return found | {path: said if path in naming else said.of_known_objects() for path, said in through.items()}


def _holding(readers: Readers, ownership: Ownership, reads: Mapping[str, FileReads]) -> Iterator[tuple[str, Attribute]]:
    """What is given that is configuration, by functions that are not known and by classes that are none."""
    instances = Instances(ownership.classes, reads)
    own = {(definition.path, definition.name) for definition in ownership.paths}
    for path, read in reads.items():
        for said in read.attributes:
            known = (path, said.owner) in own if said.owner else said.name in readers.vocabulary.records
            if not known and any(instance.definition in ownership for instance in instances.given(path, said)):
                yield path, said


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*names}))


def _heirs(reads: Mapping[str, FileReads], names: set[str]) -> Iterator[tuple[str, str]]:
    """The classes that inherit from one of some names: file, and last part of the name."""
    for path, said in reads.items():
        for owner, bases in said.bases.items():
            if any(last_part(base) in names for base in bases):
                yield path, last_part(owner)
