"""What expressions of a file are instances of, through what other files say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from analyzers.configuration.classes import PROPERTIES, Classes, Method
from analyzers.configuration.outline import TypeName
from analyzers.configuration.program import Definition
from analyzers.configuration.reads import HOLDS, MANY, Attribute, FileReads
from analyzers.python.nodes import last_part


class Instance(NamedTuple):
    """What a chain of attributes leads to."""

    definition: Definition
    in_container: bool
    """Whether it may be a list, set or mapping, however deep, of such objects."""


class Instances:
    """Follows roots and chains, as `Read` has them, to classes."""

    def __init__(self, classes: Classes, reads: Mapping[str, FileReads]) -> None:
        self._classes = classes
        self._program = classes.program
        self._reads = reads
        self._roots: dict[tuple[str, str], list[Definition]] = {}
        self._assigned: dict[str, dict[tuple[str, str], list[Attribute]]] = {}
        """By file, and then by class and attribute."""
        self._attributes: dict[tuple[Definition, str], list[Instance]] = {}

    def of(self, path: str, root: str) -> Sequence[Definition]:
        """The classes that a root in a file gives an instance of."""
        key = (path, root)
        if key not in self._roots:
            self._roots[key] = list(dict.fromkeys(self._of(path, root)))
        return self._roots[key]

    def step(self, instance: Instance, part: str) -> Iterator[Instance]:
        """What an attribute of an instance, or an element of a container, may be."""
        if part == MANY:
            yield Instance(instance.definition, True)
            return
        owner = self._classes.get(instance.definition)
        if part in owner.settings:
            yield from (Instance(child, many) for child, many in owner.settings[part].children)
        elif part in owner.methods:
            yield from (Instance(made, False) for made in self._property(owner.methods[part]))
        else:
            yield from self._assigned_by(instance.definition, part)

    def given(self, path: str, attribute: Attribute) -> Iterator[Instance]:
        """What an attribute is that a class in a file gives its instances."""
        at = [Instance(definition, False) for definition in self.of(path, attribute.root)]
        for part in attribute.chain:
            if part == HOLDS:
                at = [Instance(instance.definition, True) for instance in at]
            else:
                at = [child for instance in at for child in self.step(instance, part)]
        yield from at

    def _of(self, path: str, root: str) -> Iterator[Definition]:
        found = self._locate(path, root)
        if found is None:
            owner = self._locate(path, root.rpartition(".")[0]) if "." in root else None
            if owner is not None and owner.kind == "class":
                yield from self._made_by(owner, last_part(root))
        elif found.kind == "class":
            yield found
        elif found.kind == "function":
            yield from self._typed(found.path, self._program.outline(found.path).functions[found.name])
        elif found.kind == "alias":
            yield from self._typed(path, [TypeName(root, False)])

    def _locate(self, path: str, root: str) -> Definition | None:
        binding = self._reads[path].binding(root)
        if binding is None:
            return self._program.resolve(path, root)
        return self._program.imported(path, binding, root.split(".")[1:])

    def _made_by(self, owner: Definition, method: str) -> Iterator[Definition]:
        """What a class method returns: what it says, or else, as is the custom, an instance."""
        found = self._classes.get(owner).methods.get(method)
        typed = list(self._typed(found.owner.path, found.fact.returns)) if found else []
        yield from typed or (owner,)

    def _typed(self, path: str, names: Iterable[TypeName]) -> Iterator[Definition]:
        for definition, _ in self._program.types(path, list(names)):
            yield definition

    def _property(self, method: Method) -> Iterator[Definition]:
        if any(last_part(decorator) in PROPERTIES for decorator in method.fact.decorators):
            yield from self._typed(method.owner.path, method.fact.returns)

    def _assigned_by(self, definition: Definition, name: str) -> list[Instance]:
        """What the methods of a class, or of one that it inherits from, assign to an attribute."""
        key = (definition, name)
        if key not in self._attributes:
            self._attributes[key] = []  # so that an attribute that is made of itself leads nowhere
            for ancestor in self._classes.get(definition).ancestors:
                given = self._assigned_in(ancestor.path).get((ancestor.name, name), ())
                if found := [instance for said in given for instance in self.given(ancestor.path, said)]:
                    self._attributes[key] = list(dict.fromkeys(found))
                    break
        return self._attributes[key]

    def _assigned_in(self, path: str) -> Mapping[tuple[str, str], list[Attribute]]:
        if path not in self._assigned:
            self._assigned[path] = {}
            for said in self._reads[path].attributes if path in self._reads else ():
                self._assigned[path].setdefault((said.owner, said.name), []).append(said)
        return self._assigned[path]
