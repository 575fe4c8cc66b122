"""Configuration classes with everything that they inherit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from analyzers.configuration.outline import ClassFact, FieldFact, MethodFact
from analyzers.configuration.policy import ConfigPolicy
from analyzers.configuration.program import Definition, Program
from analyzers.python.nodes import last_part

_RECORD_DECORATORS = frozenset(("dataclass", "define", "frozen", "mutable", "attr.s", "attrs", "attr.attrs"))
_RECORD_BASES = frozenset(("BaseModel", "BaseSettings", "RootModel", "Struct"))
"""Classes of pydantic and msgspec whose subclasses are records."""
_VALUE_BASES = frozenset(("NamedTuple", "TypedDict"))
"""Bases of classes whose fields are as often read by position or key as by name."""
_CONSTRUCTORS = frozenset(("field", "Field", "ib", "attrib", "PrivateAttr"))
_LIFECYCLE = frozenset(("__init__", "__post_init__", "__attrs_post_init__", "__attrs_pre_init__", "model_post_init"))
PROPERTIES = frozenset(("property", "cached_property"))
"""Decorators of methods that are got at as attributes."""
_VALIDATORS = frozenset(("validator", "root_validator", "field_validator", "model_validator"))
_NO_DEFAULT = frozenset(("...", "MISSING", "dataclasses.MISSING", "NOTHING", "attrs.NOTHING", "PydanticUndefined"))


class Method(Struct, frozen=True):
    """A method, and the class that defines it."""

    owner: Definition
    fact: MethodFact


class FieldKey(Struct, frozen=True):
    """A field, by the class whose body declares it: all that inherit it share its readers."""

    owner: Definition
    name: str


class Setting(Struct, frozen=True):
    """A field of a configuration class."""

    key: FieldKey
    fact: FieldFact
    children: tuple[tuple[Definition, bool], ...]
    """The configuration classes that its value may be an instance of, or, where the flag is set, hold instances of."""
    default: str
    """As it is written; empty where a value must be given."""

    @property
    def owner(self) -> Definition:
        """The class whose body declares it."""
        return self.key.owner


class ConfigClass:
    """One class, seen with its ancestors."""

    def __init__(self, definition: Definition, ancestors: list[Definition], classes: Classes) -> None:
        self.definition = definition
        self.ancestors = ancestors
        """The class itself and those of the tree that it inherits from, in order of resolution."""
        self._classes = classes

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def fact(self) -> ClassFact:
        return self._classes.program.class_fact(self.definition)

    @cached_property
    def facts(self) -> list[ClassFact]:
        """What the class itself and its ancestors say, in order of resolution."""
        return [self._classes.program.class_fact(ancestor) for ancestor in self.ancestors]

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """Every field by its name, inherited ones first."""
        settings: dict[str, Setting] = {}
        for owner in reversed(self.ancestors):
            if owner == self.definition or self._classes.is_record(owner):
                settings |= self._classes.declared_by(owner)
        return settings

    @cached_property
    def methods(self) -> dict[str, Method]:
        """Every method by its name, as it is found on an instance."""
        found: dict[str, Method] = {}
        for owner in self.ancestors:
            for fact in self._classes.program.class_fact(owner).methods:
                found.setdefault(fact.name, Method(owner, fact))
        return found

    def overridden(self, method: Method) -> Method | None:
        """The method of the same name that `super()` leads to from a method."""
        above = self.ancestors[self.ancestors.index(method.owner) + 1 :]
        found = (Method(owner, fact) for owner in above for fact in self._classes.program.class_fact(owner).methods)
        return next((other for other in found if other.fact.name == method.fact.name), None)

    def lifecycle(self) -> Iterator[Method]:
        """The methods that run while an instance is made or checked."""
        for name, method in self.methods.items():
            validates = any(
                last_part(decorator) in _VALIDATORS or decorator.endswith((".validator", ".default"))
                for decorator in method.fact.decorators
            )
            if name in _LIFECYCLE or validates:
                yield method


class Classes:
    """The classes of a program, as the policy sees them."""

    def __init__(self, program: Program, policy: ConfigPolicy) -> None:
        self.program = program
        self._decorators = _RECORD_DECORATORS | {last_part(name) for name in policy.decorators}
        self._constructors = _CONSTRUCTORS | {last_part(name) for name in policy.field_constructors}
        self._known: dict[Definition, ConfigClass] = {}
        self._records: dict[Definition, bool] = {}
        self._declared: dict[Definition, dict[str, Setting]] = {}

    def get(self, definition: Definition) -> ConfigClass:
        if definition not in self._known:
            lineage = [*self._lineage(definition, frozenset())]
            # As in Python's own order a class comes behind all that inherit from it.
            ancestors = [owner for index, owner in enumerate(lineage) if owner not in lineage[index + 1 :]]
            self._known[definition] = ConfigClass(definition, ancestors, self)
        return self._known[definition]

    def is_record(self, definition: Definition) -> bool:
        """Whether a class is a dataclass, an attrs class, a pydantic model, a named tuple or the like."""
        if definition not in self._records:
            self._records[definition] = False  # so that a class that inherits from itself is none
            fact = self.program.class_fact(definition)
            self._records[definition] = (
                any(name in self._decorators or last_part(name) in self._decorators for name in fact.decorators)
                or any(last_part(name) in _RECORD_BASES for name in fact.bases)
                or self.is_value(definition)
                or any(map(self.is_record, self._bases(definition)))
            )
        return self._records[definition]

    def is_value(self, definition: Definition) -> bool:
        """Whether a class is a named tuple or a typed dictionary: configuration only where a field holds one, and not
        known by the names that are read."""
        return any(last_part(name) in _VALUE_BASES for name in self.program.class_fact(definition).bases)

    def declared_by(self, owner: Definition) -> dict[str, Setting]:
        """The fields in the body of a class by their names, with the configuration classes that they lead to."""
        if owner not in self._declared:
            facts = self.program.class_fact(owner).fields
            self._declared[owner] = {fact.name: self._setting(owner, fact) for fact in facts}
        return self._declared[owner]

    def _setting(self, owner: Definition, fact: FieldFact) -> Setting:
        found = dict.fromkeys(self.program.types(owner.path, fact.types))
        children = tuple((child, many) for child, many in found if self.is_record(child))
        return Setting(FieldKey(owner, fact.name), fact, children, self._default(fact))

    def _default(self, fact: FieldFact) -> str:
        declared = fact.keywords
        if not fact.value or last_part(fact.call) in self._constructors:
            factory = declared.get("default_factory", declared.get("factory", ""))
            if factory:
                return factory.removeprefix("lambda: ") if factory.startswith("lambda") else f"{factory}()"
            default = declared.get("default") or next(iter(fact.arguments), "")
            return "" if default in _NO_DEFAULT else default
        return fact.value

    def _lineage(self, definition: Definition, below: frozenset[Definition]) -> Iterator[Definition]:
        if definition in below:
            return
        yield definition
        for base in self._bases(definition):
            yield from self._lineage(base, below | {definition})

    def _bases(self, definition: Definition) -> Iterator[Definition]:
        for name in self.program.class_fact(definition).bases:
            found = self.program.resolve(definition.path, name)
            if found is not None and found.kind == "class" and found != definition:
                yield found
