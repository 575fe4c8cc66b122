"""The files that get at configuration by way of other objects, which hold it in an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from analyzers.configuration.instances import Instances
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.readers import Readers
from analyzers.configuration.reads import Attribute, FileReads, Vocabulary
from analyzers.python.nodes import last_part


def read_with_holders(readers: Readers, ownership: Ownership) -> dict[str, FileReads]:
    """What all files get at, also by an attribute that a class of another file gives its instances.

    These are looked for in the files that may name such a class or one that inherits from it, however often.
    """
    found = readers.read()
    holding = [*_holding(ownership, found)]
    fresh = {(path, last_part(said.owner)) for path, said in holding}
    held = {said.name for _, said in holding}
    words = Vocabulary(readers.vocabulary.records, _sorted(name for _, name in fresh), _sorted(held))

    def gets_at(path: str) -> bool:
        return path in readers.names and not held.isdisjoint(readers.names[path].names.split())

    known: set[str] = set()
    through: dict[str, FileReads] = {}
    while fresh:
        names = {name for _, name in fresh}
        known |= names
        near = readers.importing(names, {path for path, _ in fresh}) - through.keys()
        through |= readers.read(sorted(path for path in near if readers.has_class(path) or gets_at(path)), words)
        fresh = {heir for heir in _heirs(through, known) if heir[1] not in known}
    # What is done with an object of which nothing is known matters only in files that name configuration.
    naming = {path for path, said in found.items() if said.stored}
    return found | {path: said if path in naming else said.of_known_objects() for path, said in through.items()}


def _holding(ownership: Ownership, reads: Mapping[str, FileReads]) -> Iterator[tuple[str, Attribute]]:
    """The attributes that are configuration, of classes that are not."""
    instances = Instances(ownership.classes, reads)
    own = {(definition.path, definition.name) for definition in ownership.paths}
    for path, read in reads.items():
        for said in read.attributes:
            leads = any(instance.definition in ownership for instance in instances.given(path, said))
            if leads and (path, said.owner) not in own:
                yield path, said


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*names}))


def _heirs(reads: Mapping[str, FileReads], names: set[str]) -> Iterator[tuple[str, str]]:
    """The classes that inherit from one of some names: file, and last part of the name."""
    for path, said in reads.items():
        for owner, bases in said.bases.items():
            if any(last_part(base) in names for base in bases):
                yield path, last_part(owner)
