"""Who gets at which field: the reads of all files, resolved to the classes that own what they read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from analyzers.configuration.classes import FieldKey, Method
from analyzers.configuration.outline import TypeName
from analyzers.configuration.ownership import Ownership
from analyzers.configuration.program import Definition
from analyzers.configuration.reads import ANY_FIELD, MANY, FileReads, Parser, Read
from analyzers.python.nodes import last_part

_FIELD_KINDS = frozenset(("read", "write", "delete", "getattr", "hasattr", "setattr", "argument"))
"""What is done with one field; everything else is done with the whole object."""
_READING_KINDS = frozenset(("read", "getattr", "hasattr", "through"))
_DUMPS = frozenset(
    ("__dict__", "model_dump", "model_dump_json", "dict", "json", "__dataclass_fields__", "model_fields")
)
_OF_CONTAINERS = frozenset(name for kind in (dict, list, set, deque) for name in dir(kind) if not name.startswith("_"))
_PROPERTIES = frozenset(("property", "cached_property"))


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
    for path in sorted(reads):
        resolver = _Resolver(ownership, path, reads[path], found)
        for read in reads[path].reads if fields is None else reads[path].reads_of(fields):
            resolver.resolve(read)
        for option in reads[path].parsers:
            found.options.setdefault(option.field, []).append(OptionPlace(path, option))
    # An expression that may be one of two objects is one place.
    found.fields = {key: list(dict.fromkeys(consumers)) for key, consumers in found.fields.items()}
    found.dynamic = list({(dynamic.owner, dynamic.consumer): dynamic for dynamic in found.dynamic}.values())
    return found


class _Held(NamedTuple):
    """What a part of a chain leads to."""

    definition: Definition
    in_container: bool
    """Whether it may be a list, set or mapping, however deep, of such objects."""


class _Resolver:
    """Resolves the reads of one file."""

    def __init__(self, ownership: Ownership, path: str, reads: FileReads, found: Consumers) -> None:
        self._ownership = ownership
        self._classes = ownership.classes
        self._program = ownership.classes.program
        self._path = path
        self._reads = reads
        self._found = found
        self._roots: dict[str, list[Definition]] = {}

    def resolve(self, read: Read) -> None:
        if not read.root:
            consumer = Consumer(self._path, read.line, read.column, read.scope, read.kind)
            self._found.dynamic.append(Dynamic(None, consumer, ""))
            return
        if read.root not in self._roots:
            self._roots[read.root] = list(dict.fromkeys(self._instances(read.root)))
        for definition in self._roots[read.root]:
            self._walk(definition, read)

    def _instances(self, root: str) -> Iterator[Definition]:
        """The classes that a root gives an instance of."""
        found = self._locate(root)
        if found is None:
            owner = self._locate(root.rpartition(".")[0]) if "." in root else None
            if owner is not None and owner.kind == "class":
                yield from self._made_by(owner, last_part(root))
        elif found.kind == "class":
            yield found
        elif found.kind == "function":
            yield from self._typed(found.path, self._program.outline(found.path).functions[found.name])
        elif found.kind == "alias":
            yield from self._typed(self._path, [TypeName(root, False)])

    def _locate(self, root: str) -> Definition | None:
        binding = self._reads.binding(root)
        if binding is None:
            return self._program.resolve(self._path, root)
        return self._program.imported(self._path, binding, root.split(".")[1:])

    def _made_by(self, owner: Definition, method: str) -> Iterator[Definition]:
        """What a class method returns: what it says, or else, as is the custom, an instance."""
        found = self._classes.get(owner).methods.get(method)
        typed = list(self._typed(found.owner.path, found.fact.returns)) if found else []
        yield from typed or (owner,)

    def _typed(self, path: str, names: Iterable[TypeName]) -> Iterator[Definition]:
        for definition, _ in self._program.types(path, list(names)):
            yield definition

    def _walk(self, definition: Definition, read: Read) -> None:
        """Follow a chain as far as fields of owned classes go."""
        at = [_Held(definition, False)]
        names = [index for index, part in enumerate(read.chain) if part != MANY]
        for index, part in enumerate(read.chain):
            if part == MANY:
                at = [_Held(owner, True) for owner, _ in at]
                continue
            kind = read.kind if index == names[-1] and read.kind in _FIELD_KINDS else "through"
            at = [child for held in at for child in self._step(held, part, kind, read)]
            if not at:
                return
        if read.kind not in _FIELD_KINDS:
            for owner, _ in at:
                self._note(owner, read, read.kind)

    def _step(self, held: _Held, part: str, kind: str, read: Read) -> Iterator[_Held]:
        """The classes that an attribute leads to."""
        owner = self._classes.get(held.definition)
        setting = owner.settings.get(part)
        if setting is not None:
            if held.definition in self._ownership:
                consumer = Consumer(self._path, read.line, read.column, read.scope, kind)
                self._found.fields.setdefault(setting.key, []).append(consumer)
            yield from (_Held(child, many) for child, many in setting.children)
        elif part in owner.methods:
            yield from (_Held(made, False) for made in self._property(owner.methods[part]))
        elif held.in_container and part in _OF_CONTAINERS:
            return
        elif held.definition in self._ownership and (part in _DUMPS or kind in _FIELD_KINDS):
            self._note(held.definition, read, part if part in _DUMPS else f"{kind} of no declared field")

    def _property(self, method: Method) -> Iterator[Definition]:
        if any(last_part(decorator) in _PROPERTIES for decorator in method.fact.decorators):
            yield from self._typed(method.owner.path, method.fact.returns)

    def _note(self, owner: Definition, read: Read, kind: str) -> None:
        if owner in self._ownership:
            consumer = Consumer(self._path, read.line, read.column, read.scope, kind)
            self._found.dynamic.append(Dynamic(owner, consumer, ".".join((read.root, *read.chain))))
