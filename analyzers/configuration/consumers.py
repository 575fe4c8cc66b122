"""Who gets at which field: the reads of all files, resolved to the classes that own what they read."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct, field

from analyzers.configuration.classes import FieldKey
from analyzers.configuration.instances import Instance, Instances
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.program import Definition
from analyzers.configuration.reads import ANY_FIELD, HOLDS, MANY, FileReads, Parser, Read

_FIELD_KINDS = frozenset(("read", "write", "delete", "getattr", "hasattr", "setattr", "argument"))
"""What is done with one field; everything else is done with the whole object."""
_READING_KINDS = frozenset(("read", "getattr", "hasattr", "through"))
_DUMPS = frozenset(
    ("__dict__", "model_dump", "model_dump_json", "dict", "json", "__dataclass_fields__", "model_fields")
)
_OF_OBJECTS = frozenset(dir(object))
_OF_CONTAINERS = _OF_OBJECTS | {name for kind in (dict, list, set, deque) for name in dir(kind) if name[0] != "_"}


class Consumer(NamedTuple):
    """A place that gets at a field, or, where it is dynamic, at an object without saying at which of its fields."""

    path: str
    line: int
    column: int
    scope: str
    kind: str

    @property
    def reads(self) -> bool:
        return self.kind in _READING_KINDS


class Dynamic(NamedTuple):
    """A place that gets at an object's fields without naming them, or by a name that no field has."""

    owner: Definition | None
    """None where the object may be of any class."""
    consumer: Consumer
    chain: str
    """What is got at, as far as it is known."""


class OptionPlace(NamedTuple):
    path: str
    option: Parser


class Consumers(Struct):
    """All of it."""

    fields: dict[FieldKey, list[Consumer]] = field(default_factory=dict)
    dynamic: list[Dynamic] = field(default_factory=list)
    options: dict[str, list[OptionPlace]] = field(default_factory=dict)
    """Name of a field -> the command-line options that set an attribute of that name."""

    def spread(self) -> set[Definition]:
        """The classes of objects any of whose fields somebody may read without saying which."""
        spread = (found for found in self.dynamic if found.consumer.kind in ANY_FIELD)
        return {found.owner for found in spread if found.owner is not None}


def find_consumers(
    ownership: Ownership, reads: Mapping[str, FileReads], fields: frozenset[str] | None = None
) -> Consumers:
    """Resolve the reads of every file, in order of path.

    Args:
        ownership: the classes that own what is read.
        reads: by path.
        fields: look no further than what may get at a field of one of these names; at every one where None.
    """
    found = Consumers()
    instances = Instances(ownership.classes, reads)
    for path in sorted(reads):
        resolver = _Resolver(ownership, instances, path, found)
        for read in reads[path].reads if fields is None else reads[path].reads_of(fields):
            resolver.resolve(read)
        for option in reads[path].parsers:
            found.options.setdefault(option.field, []).append(OptionPlace(path, option))
    # An expression that may be one of two objects is one place.
    found.fields = {key: list(dict.fromkeys(consumers)) for key, consumers in found.fields.items()}
    found.dynamic = list({(dynamic.owner, dynamic.consumer): dynamic for dynamic in found.dynamic}.values())
    return found


class _Resolver:
    """Resolves the reads of one file."""

    def __init__(self, ownership: Ownership, instances: Instances, path: str, found: Consumers) -> None:
        self._ownership = ownership
        self._instances = instances
        self._path = path
        self._found = found

    def resolve(self, read: Read) -> None:
        if not read.root:
            consumer = Consumer(self._path, read.line, read.column, read.scope, read.kind)
            self._found.dynamic.append(Dynamic(None, consumer, ""))
            return
        for definition in self._instances.of(self._path, read.root):
            self._walk(definition, read)

    def _walk(self, definition: Definition, read: Read) -> None:
        """Follow a chain as far as fields of owned classes go."""
        at = [Instance(definition, False)]
        names = [index for index, part in enumerate(read.chain) if part not in (MANY, HOLDS)]
        for index, part in enumerate(read.chain):
            if index in names:
                kind = read.kind if index == names[-1] and read.kind in _FIELD_KINDS else "through"
                for instance in at:
                    self._get(instance, part, kind, read)
            at = [child for instance in at for child in self._instances.step(instance, part)]
            if not at:
                return
        if read.kind not in _FIELD_KINDS:
            for instance in at:
                self._note(instance.definition, read, read.kind)

    def _get(self, instance: Instance, part: str, kind: str, read: Read) -> None:
        """Note that somebody gets at an attribute of an owned class."""
        if instance.definition not in self._ownership:
            return
        owner = self._ownership.classes.get(instance.definition)
        if part in owner.settings:
            consumer = Consumer(self._path, read.line, read.column, read.scope, kind)
            self._found.fields.setdefault(owner.settings[part].key, []).append(consumer)
            return
        others = _OF_CONTAINERS if instance.in_container else _OF_OBJECTS
        if part not in owner.methods and part not in others:
            self._note(instance.definition, read, part if part in _DUMPS else f"{kind} of no declared field")

    def _note(self, owner: Definition, read: Read, kind: str) -> None:
        if owner in self._ownership:
            consumer = Consumer(self._path, read.line, read.column, read.scope, kind)
            self._found.dynamic.append(Dynamic(owner, consumer, ".".join((read.root, *read.chain))))
