"""What names stand for in the scopes of one file, as far as configuration objects are concerned."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, field

from analyzers.configuration.annotations import type_names
from analyzers.configuration.reads import HOLDS, MANY, Vocabulary
from analyzers.python.nodes import dotted, last_part

SAME = frozenset(("copy", "deepcopy", "replace", "evolve", "model_copy"))
"""Functions whose result is like their argument."""
DUMPING = frozenset(("asdict", "structs_asdict", "to_builtins", "vars"))
"""Functions that give every field of an object by its name."""
DUMPING_METHODS = frozenset(("_asdict", "as_dict", "asdict", "dict", "model_dump", "to_dict"))
"""Methods that do."""


class Origin(NamedTuple):
    """What a value is: something that a chain of attributes leads to from an instance of a class."""

    root: str
    chain: tuple[str, ...] = ()

    def to(self, part: str) -> Origin:
        """An attribute of it. One element of a parameter `list[C]` is an instance of C."""
        if part == MANY and self.chain[-1:] == (HOLDS,):
            return Origin(self.root, (*self.chain[:-1], MANY))
        return Origin(self.root, (*self.chain, part))


class Scope(Struct):
    """A module, function or class and what its names are bound to."""

    name: str
    parent: Scope | None = None
    owner: ClassScope | None = None
    """The class that this function is a method of."""
    this: str = ""
    """The name of the method's first argument."""
    names: dict[str, list[Origin]] = field(default_factory=dict)
    dumps: dict[str, list[Origin]] = field(default_factory=dict)
    """The names of mappings that hold every field of something, and of what."""

    def chain(self) -> Iterator[Scope]:
        """The scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def lookup(self, name: str) -> list[Origin] | None:
        """What a name is bound to; None where no scope of the file binds it, other than by an import."""
        return next((scope.names[name] for scope in self.chain() if name in scope.names), None)

    def dumped(self, name: str) -> list[Origin]:
        """What a name holds every field of."""
        return next((scope.dumps[name] for scope in self.chain() if name in scope.dumps), [])

    def class_of(self, name: str) -> ClassScope | None:
        """The class whose instance a name is because it is the first argument of a method around."""
        return next((scope.owner for scope in self.chain() if scope.this == name), None)

    def bind(self, name: str, origins: list[Origin]) -> None:
        if not origins and self.parent is None:
            return  # `Config = None` beside an import stands in for what could not be imported
        known = self.names.setdefault(name, [])
        known += [origin for origin in origins if origin not in known]


class ClassScope(Struct):
    """A class, and what is known of the attributes of its instances."""

    name: str
    bases: list[ClassScope]
    """Those of the same file."""
    has_others: bool = False
    """Whether it has bases that are not."""
    attributes: dict[str, list[Origin]] = field(default_factory=dict)

    def lookup(self, name: str) -> list[Origin]:
        if name in self.attributes:
            return self.attributes[name]
        return next((found for base in self.bases if (found := base.lookup(name))), [])

    def inherits(self) -> bool:
        """Whether its instances may have attributes that other files give them."""
        return self.has_others or any(base.inherits() for base in self.bases)

    def holds_any(self) -> bool:
        """Whether anything is known of any attribute."""
        return any(self.attributes.values()) or any(base.holds_any() for base in self.bases)

    def bind(self, name: str, origins: list[Origin]) -> None:
        known = self.attributes.setdefault(name, [])
        known += [origin for origin in origins if origin not in known]


class Typing:
    """Says what expressions are. Only names out of a vocabulary count as types."""

    def __init__(self, vocabulary: Vocabulary, renamed: dict[str, str]) -> None:
        """Take in what counts.

        Args:
            vocabulary: the names.
            renamed: name in the file -> what it was called where it was imported from.
        """

        def here(names: Iterable[str]) -> frozenset[str]:
            known = frozenset(names)
            return known.difference(renamed) | {local for local, name in renamed.items() if name in known}

        self._records = here(vocabulary.records)
        self._holders = here(vocabulary.holders) - self._records
        self._words = self._records | self._holders
        self._held = frozenset(vocabulary.held)

    def is_known(self, name: str) -> bool:
        """Whether a dotted name, or something that it is an attribute of, is in the vocabulary."""
        return not self._words.isdisjoint(name.split("."))

    def is_record(self, name: str) -> bool:
        """Whether it is known, and not only for what its instances hold."""
        return not self._records.isdisjoint(name.split("."))

    def matters(self, origin: Origin) -> bool:
        """Whether something may be configuration: of an object that only holds some, not every attribute is."""
        if self.is_record(origin.root) or not self.is_known(origin.root):
            return True
        return next((part in self._held for part in origin.chain if part not in (MANY, HOLDS)), False)

    def concerns(self, words: set[str], scope: Scope) -> bool:
        """Whether any of the words may lead to configuration in a scope."""
        return not self._words.isdisjoint(words) or any(
            any(origins and name in words for names in (level.names, level.dumps) for name, origins in names.items())
            or (level.this in words and level.owner is not None and self._holds_any(level.owner, words))
            for level in scope.chain()
        )

    def annotated(self, annotation: ast.expr | None) -> list[Origin]:
        return [
            Origin(found.name, (HOLDS,) if found.many else ())
            for found in type_names(annotation)
            if self.is_known(found.name)
        ]

    def of(self, node: ast.expr, scope: Scope) -> list[Origin]:
        """What an expression may be; nothing where that has to do with no configuration."""
        match node:
            case ast.Name(id=name):
                return self._name(name, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Subscript(value=value):
                return [origin.to(MANY) for origin in self.of(value, scope)]
            case ast.Call():
                return self._call(node, scope)
            case ast.IfExp(body=body, orelse=other):
                return [*self.of(body, scope), *self.of(other, scope)]
            case ast.BoolOp(values=values):
                return [origin for value in values for origin in self.of(value, scope)]
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                return self.of(value, scope)
        return []

    def step(self, node: ast.expr, scope: Scope) -> list[Origin]:
        """What an expression gets at of a configuration object; nothing where it only has the object by some name."""
        match node:
            case ast.Attribute(value=ast.Name(id=this), attr=attribute) if owner := scope.class_of(this):
                return [Origin(owner.name, (attribute,))] if self.is_record(owner.name) else []
            case ast.Attribute(value=value, attr=attribute):
                return [origin.to(attribute) for origin in self.of(value, scope)]
        return self.of(node, scope)

    def elements(self, node: ast.expr, scope: Scope) -> list[Origin]:
        """What one element of an expression is, when it is walked through."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="values"), args=[]):
                return [origin.to(MANY) for origin in self.of(value, scope)]
            case ast.Call(func=ast.Name(id="reversed" | "sorted" | "list" | "tuple"), args=[value, *_]):
                return self.elements(value, scope)
        return [origin.to(MANY) for origin in self.of(node, scope)]

    def _holds_any(self, owner: ClassScope, words: set[str]) -> bool:
        """Whether an instance may hold configuration in an attribute of one of some names."""
        inherits = owner.inherits() and not self._held.isdisjoint(words)
        return inherits or self.is_known(owner.name) or owner.holds_any()

    def _name(self, name: str, scope: Scope) -> list[Origin]:
        found = scope.lookup(name)
        if found is None and self.is_known(name) and scope.class_of(name) is None:
            return [Origin(name)]
        return found or []

    def _attribute(self, node: ast.Attribute, scope: Scope) -> list[Origin]:
        if found := self.step(node, scope):
            return found
        if isinstance(node.value, ast.Name) and (owner := scope.class_of(node.value.id)):
            inherited = node.attr in self._held and owner.inherits()
            return owner.lookup(node.attr) or [Origin(owner.name, (node.attr,))] * inherited
        return self._global(dotted(node), scope) if self.is_known(node.attr) else []

    def _call(self, node: ast.Call, scope: Scope) -> list[Origin]:
        name = dotted(node.func)
        match node.args:
            case [value, ast.Constant(value=str(attribute)), *_] if name == "getattr":
                return [origin.to(attribute) for origin in self.of(value, scope)]
            case [kind, _] if last_part(name) == "cast":
                return self.annotated(kind)
            case [value, *_] if last_part(name) in SAME:
                return self.of(value, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            return self.of(node.func.value, scope)
        return self._global(name, scope) if self.is_known(name) else []

    def _global(self, name: str, scope: Scope) -> list[Origin]:
        """What a dotted name is that starts with no variable."""
        return [Origin(name)] if name and scope.lookup(name.partition(".")[0]) is None else []


def dumped_by(value: ast.expr) -> Iterator[ast.expr]:
    """The objects every field of which is in a mapping, by its name, as far as the expression that makes it tells."""
    match value:
        case ast.Call(func=ast.Name(id="dict"), args=[inner, *_]):
            yield from dumped_by(inner)
        case ast.Call(func=function, args=[inner, *_]) if last_part(dotted(function)) in DUMPING:
            yield inner
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in DUMPING_METHODS:
            yield inner
        case ast.Attribute(value=inner, attr="__dict__"):
            yield inner
        case ast.Dict(keys=keys, values=values):
            for key, inner in zip(keys, values, strict=True):
                if key is None:
                    yield from dumped_by(inner)
        case ast.DictComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Attribute(value=inner, attr="items")))]):
            yield from dumped_by(inner)
        case ast.BinOp(left=first, op=ast.BitOr(), right=second) | ast.IfExp(body=first, orelse=second):
            yield from dumped_by(first)
            yield from dumped_by(second)


def bound_by(node: ast.AST, typing: Typing, scope: Scope) -> Iterator[tuple[ast.expr, list[Origin]]]:
    """The targets that a statement or comprehension binds, and what to."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _unpacked(target, value, typing, scope)
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            yield target, typing.annotated(annotation) or (typing.of(value, scope) if value else [])
        case ast.NamedExpr(target=target, value=value):
            yield target, typing.of(value, scope)
        case ast.For(target=target, iter=iterable) | ast.comprehension(target=target, iter=iterable):
            match target, iterable:
                case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Attribute(value=mapping, attr="items"), args=[]):
                    yield value, [origin.to(MANY) for origin in typing.of(mapping, scope)]
                case _:
                    yield target, typing.elements(iterable, scope)
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield target, typing.of(value, scope)


def _unpacked(
    target: ast.expr, value: ast.expr, typing: Typing, scope: Scope
) -> Iterator[tuple[ast.expr, list[Origin]]]:
    """`a, b = x, y` binds twice."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _unpacked(one, other, typing, scope)
    else:
        yield target, typing.of(value, scope)
