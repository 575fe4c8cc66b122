"""The files that get at configuration by way of other objects, which hold it in an attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from analyzers.configuration.instances import Instances
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.readers import Readers
from analyzers.configuration.reads import Attribute, FileReads, Vocabulary
from analyzers.python.nodes import last_part

_Defined = tuple[str, str]
"""The file of a class or function, and the last part of its name."""


def read_with_holders(readers: Readers, ownership: Ownership) -> dict[str, FileReads]:
    """What all files get at, also by what a class of another file gives its instances, or a function its callers.

    This is looked for in the files that may name such a function or class, or one that inherits from it, however often.
    """
    found = readers.read()
    giving = [*_giving(readers, ownership, found)]
    functions = {(path, said.name) for path, said in giving if not said.owner}
    holders = {(path, last_part(said.owner)) for path, said in giving if said.owner}
    held = {said.name for _, said in giving if said.owner}
    records = {*readers.vocabulary.records, *_names(functions)}
    words = Vocabulary(_sorted(records), _sorted(_names(holders)), _sorted(held))
    through = readers.read(sorted(_importing(readers, functions)), words)
    known: set[str] = set()
    while holders:
        known |= _names(holders)
        near = _importing(readers, holders) - through.keys()
        through |= readers.read(sorted(path for path in near if _may_hold(readers, path, held)), words)
        holders = {heir for heir in _heirs(through, known) if heir[1] not in known}
    # What is done with an object of which nothing is known matters only in files that name configuration.
    naming = {path for path, said in found.items() if said.stored}
    return found | {path: said if path in naming else said.of_known_objects() for path, said in through.items()}


def _importing(readers: Readers, defined: Set[_Defined]) -> set[str]:
    return readers.importing(_names(defined), {path for path, _ in defined})


def _names(defined: Set[_Defined]) -> set[str]:
    return {name for _, name in defined}


def _may_hold(readers: Readers, path: str, held: Set[str]) -> bool:
    """Whether a file defines classes, or gets at an attribute of one of some names."""
    names = readers.names[path].names.split() if path in readers.names else ()
    return readers.has_class(path) or not held.isdisjoint(names)


def _giving(readers: Readers, ownership: Ownership, reads: Mapping[str, FileReads]) -> Iterator[tuple[str, Attribute]]:
    """What is given that is configuration, by functions that are not known and by classes that are none."""
    instances = Instances(ownership.classes, reads)
    own = {(definition.path, definition.name) for definition in ownership.paths}
    for path, read in reads.items():
        for said in read.attributes:
            known = (path, said.owner) in own if said.owner else said.name in readers.vocabulary.records
            if not known and any(instance.definition in ownership for instance in instances.given(path, said)):
                yield path, said


def _sorted(names: Set[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _heirs(reads: Mapping[str, FileReads], names: Set[str]) -> Iterator[_Defined]:
    """The classes that inherit from one of some names."""
    for path, said in reads.items():
        for owner, bases in said.bases.items():
            if any(last_part(base) in names for base in bases):
                yield path, last_part(owner)
