"""Where one file gets at configuration: attribute chains that start at something typed as a configuration class."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from analyzers.python.bindings import Binding
from analyzers.source import Source

_VERSION = 9
"""Goes up whenever the same text may give other facts."""

_BY_ANY_NAME = ("asdict(", "astuple(", "fields(", "vars(", "getattr(", "__dict__")
"""What a file holds that may get at the fields of an object without a word of its class."""

MANY = "[]"
"""The part of a chain that stands for one element of a container."""

HOLDS = "<many>"
"""Last part of the chain of a container whose elements an annotation names."""


ANY_FIELD = ("spread", "pattern")
"""What is done with a whole object by somebody who may then read any field of it."""


class Read(NamedTuple):
    """One place that gets at a configuration object or at something of it."""

    root: str
    """Dotted name of the class that the chain starts at an instance of, or of the function whose result it is; empty
    where that is not known."""
    chain: list[str]
    """Attributes, and `[]` for an element of a container; empty where the object itself is meant."""
    kind: str
    """`read`, `write`, `delete`, `getattr`, `setattr`, `argument`, or what is done with the object as a whole."""
    line: int
    column: int
    scope: str
    """Dotted name of the enclosing function or class; empty at module level."""


class Parser(NamedTuple):
    """A command-line option."""

    field: str
    """Name of the attribute that it sets."""
    line: int
    column: int
    scope: str
    expression: str


class Attribute(NamedTuple):
    """What a class gives its instances, or a function its callers, that is configuration or leads to it."""

    owner: str
    """Dotted name of the class; empty for a function."""
    name: str
    """Of the attribute, or of the function."""
    root: str
    chain: list[str]
    """Root and chain are those of a `Read`; the last part may be `HOLDS`."""


class FileReads(Struct, frozen=True):
    """What `ReadsExtractor` found in one file."""

    stored: Sequence[Any]

    @property
    def is_read(self) -> bool:
        """False where the file speaks of configuration but does not parse."""
        return self.stored is not None

    def binding(self, root: str) -> Binding | None:
        """Where the first part of a root is imported from; None where the file defines it."""
        row = self.stored[0].get(root.partition(".")[0])
        return Binding(*row) if row else None

    @property
    def reads(self) -> list[Read]:
        return [Read(*row) for row in self.stored[1]] if self.stored else []

    def of_known_objects(self) -> FileReads:
        """The same without what is done with objects that may be of any class."""
        if not self.stored:
            return self
        imports, reads, *rest = self.stored
        return FileReads((imports, [row for row in reads if row[0]], *rest))

    def reads_of(self, fields: frozenset[str]) -> list[Read]:
        """Those among the reads that may get at a field of one of the names, if only at all of them."""
        rows = self.stored[1] if self.stored else ()
        return [Read(*row) for row in rows if row[2] in ANY_FIELD or not fields.isdisjoint(row[1])]

    @property
    def parsers(self) -> list[Parser]:
        return [Parser(*row) for row in self.stored[2]] if self.stored else []

    @property
    def attributes(self) -> list[Attribute]:
        return [Attribute(*row) for row in self.stored[3]] if self.stored else []

    @property
    def bases(self) -> dict[str, list[str]]:
        """Of every class, by its dotted name, where holders were looked for: by the names that they have where they
        are from."""
        return self.stored[4] if self.stored else {}


class Vocabulary(Struct, frozen=True):
    """What the words of a file are held against. Of names of classes only the last part counts."""

    records: tuple[str, ...]
    """The classes, and the functions that return instances of them."""
    holders: tuple[str, ...] = ()
    """Other classes, whose instances hold instances of them."""
    held: tuple[str, ...] = ()
    """The attributes by which these do."""


class ReadsExtractor(Struct, frozen=True):
    """Finds the uses of instances of some classes."""

    vocabulary: Vocabulary
    unnamed: bool = False
    """Whether to read files too that hold none of the names and get at the fields of some object or other."""

    @property
    def kind(self) -> str:
        """Names the fact: other classes are another fact."""
        said = "\0\0".join(map("\0".join, astuple(self.vocabulary)))
        digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8)
        return f"config-reads@{_VERSION}:{digest.hexdigest()}{'+' * self.unnamed}"

    def extract(self, source: Source) -> Sequence[Any] | None:
        """What `FileReads` stores: empty where there is nothing to look for, None where the file does not parse or is
        nested too deeply."""
        signs = (*self.vocabulary.records, *_BY_ANY_NAME * self.unnamed)
        if not self.vocabulary.holders and not any(sign in source.text for sign in signs):
            return ()
        from analyzers.configuration.read_finder import find_reads
        from analyzers.python.parsing import parse_module

        module = parse_module(source.text)
        try:
            return None if module is None else find_reads(module, source.text, self.vocabulary)
        except RecursionError:
            return None
