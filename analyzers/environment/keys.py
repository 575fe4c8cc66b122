"""What an expression that names a variable can be: texts, with a mark for each part that is not known."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from analyzers.environment.inferable import Inferable
from analyzers.environment.scopes import Binding, Scope, parameters, returned
from analyzers.environment.uses import ANY

_MOST = 64
"""No expression is taken apart into more alternatives than this."""
_DEEPEST = 12
_LONGEST = 16
"""Parts of one name."""
_MOST_STEPS = 2000
"""Names that are made of each other must not keep us."""
_METHODS: Mapping[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower, "strip": str.strip}
_VIEWS = frozenset(("items", "keys", "values"))
_COPIES = frozenset(("sorted", "list", "tuple", "set", "frozenset", "reversed"))
_PERCENT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")
_BRACES = re.compile(r"\{(\w*)\}")


class Parameter(NamedTuple):
    """A part that the callers of a function give."""

    function: Scope
    name: str


class Unknown(NamedTuple):
    """A part that nothing here tells."""


Key = tuple[str | Parameter | Unknown, ...]
"""The parts of one name, in order."""

UNKNOWN: Key = (Unknown(),)


class Value(NamedTuple):
    """An expression, and where it is evaluated."""

    node: ast.expr
    scope: Scope


class _Table(NamedTuple):
    """A dict display, and where it is evaluated."""

    node: ast.Dict
    scope: Scope


class KeyReader:
    """Takes expressions apart, and remembers which names of the module it could not find."""

    def __init__(self, infer: Callable[[ast.expr], Sequence[str]] = lambda _: ()) -> None:
        """`infer` tells every text that an expression may be of which a part is not known here; nothing where it cannot
        tell either."""
        self._infer = infer
        self.has_asked = False
        """Whether there was such an expression."""
        self.missing: set[str] = set()
        self._inferable = Inferable(self.missing)
        self._arguments: dict[Scope, dict[str, list[Key]] | None] = {}
        """What the call gives that a function is followed for."""
        self._steps = 0

    def read(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> list[Key]:
        """Everything that the expression may be, without repetitions."""
        if not depth:
            self._steps = _MOST_STEPS
        self._steps -= 1
        if node is None or depth > _DEEPEST or self._steps < 0:
            return [UNKNOWN]
        found = list(dict.fromkeys(self._read(node, scope, depth + 1)))
        found = found if 0 < len(found) <= _MOST else [UNKNOWN]
        return found if depth else self._completed(node, scope, found)

    def _completed(self, node: ast.expr, scope: Scope, found: list[Key]) -> list[Key]:
        """What is inferred where a part is not known that no caller gives. Not for a name alone: all that it is bound
        to has been read, and inference, which takes long, hardly ever knows more."""
        kinds = {type(part) for key in found for part in key}
        known = Unknown not in kinds or Parameter in kinds or isinstance(node, ast.Name)
        if known or not self._inferable.may_be(node, scope):
            return found
        self.has_asked = True
        return [(text,) for text in self._infer(node)] or found

    def contents(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> list[Value] | None:
        """What a loop over the expression gives; None where that is not known."""
        if node is None or depth > _DEEPEST:
            return None
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return self._elements(elements, scope, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._elements([ast.Starred(left), ast.Starred(right)], scope, depth)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                found = self.contents(inner, scope, depth + 1)
                return found and [Value(ast.Tuple([ast.Constant(0), value.node]), value.scope) for value in found]
            case ast.Call(func=ast.Name(id=function), args=[inner, *_]) if function in _COPIES:
                return self.contents(inner, scope, depth + 1)
            case ast.Dict() | ast.Call(args=[]):
                return self._contents_of_table(node, scope)
            case ast.Name() | ast.Attribute():
                bindings = self._bindings(node, scope)
                if len(bindings) == 1 and bindings[0].parameter is None and bindings[0].element_of is None:
                    return self.contents(bindings[0].value, bindings[0].scope, depth + 1)
        return None

    def _elements(self, elements: Sequence[ast.expr], scope: Scope, depth: int) -> list[Value] | None:
        """The elements of a display, which may take in those of others."""
        found: list[Value] = []
        for element in elements:
            inner: list[Value] | None = [Value(element, scope)]
            if isinstance(element, ast.Starred):
                inner = self.contents(element.value, scope, depth + 1)
            if inner is None:
                return None
            found += inner
        return found

    def arguments(
        self, call: ast.Call, scope: Scope, function: Scope, *, bound: bool, wanted: Collection[str], depth: int = 0
    ) -> dict[str, list[Key]]:
        """What a call gives for some parameters of a function, whose first one may be bound already."""
        assert isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        declared = list(parameters(function.node.args))
        given = {name: (default, function.parent or function) for name, default in declared}
        for (name, _), value in zip(declared[bound:], call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            given[name] = (value, scope)
        for keyword in call.keywords:
            if keyword.arg in given:
                given[keyword.arg] = (keyword.value, scope)
        return {name: self.read(*given[name], depth) for name in given if name in wanted}

    def of_mapping(self, node: ast.expr, scope: Scope) -> list[Key]:
        """The keys of a mapping of variables."""
        table = self._table(node, scope)
        if table is None:
            return [UNKNOWN]
        return [key for part in table.node.keys for key in (self.read(part, table.scope) if part else [UNKNOWN])]

    def _read(self, node: ast.expr, scope: Scope, depth: int) -> Iterable[Key]:
        match node:
            case ast.Constant(value=str(text)):
                return [(text,)]
            case ast.Constant(value=bytes(data)):
                return [(data.decode("utf-8", "replace"),)]
            case ast.JoinedStr(values=values):
                return _joined([self.read(value, scope, depth) for value in values])
            case ast.FormattedValue(value=value, format_spec=None):
                return self.read(value, scope, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _joined([self.read(left, scope, depth), self.read(right, scope, depth)])
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=right):
                given = right.elts if isinstance(right, ast.Tuple) else [right]
                return self._formatted(_PERCENT.split(text), given, scope, depth)
            case ast.IfExp(body=first, orelse=second):
                return [*self.read(first, scope, depth), *self.read(second, scope, depth)]
            case ast.BoolOp(values=values):
                return [key for value in values for key in self.read(value, scope, depth)]
            case ast.NamedExpr(value=value):
                return self.read(value, scope, depth)
            case ast.Attribute(value=ast.Attribute() as member, attr="value"):
                return self.read(member, scope, depth)
            case ast.Name() | ast.Attribute():
                return self._bound(node, scope, depth)
            case ast.Subscript():
                return self._subscript(node, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
        return [UNKNOWN]

    def _bindings(self, node: ast.expr, scope: Scope) -> list[Binding]:
        """What a name is bound to, or an attribute of `self`, `cls` or a class of the file."""
        match node:
            case ast.Name(id=name):
                bindings = scope.lookup(name)
                if not bindings:
                    self.missing.add(name)
                return bindings
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                holder = scope.class_of(owner)
                if holder:
                    return holder.attribute(name)
                if not scope.lookup(owner):
                    self.missing.add(owner)
        return []

    def _bound(self, node: ast.Name | ast.Attribute, scope: Scope, depth: int) -> Iterator[Key]:
        bindings = self._bindings(node, scope)
        for binding in bindings:
            if binding.parameter and isinstance(node, ast.Name):
                given = self._arguments.get(binding.parameter)
                yield from given[node.id] if given else [(Parameter(binding.parameter, node.id),)]
            elif binding.element_of is not None:
                found = self.contents(binding.value, binding.scope, depth)
                for value in found or ():
                    yield from self.read(_at(value.node, binding.element_of), value.scope, depth)
                if found is None:
                    yield UNKNOWN
            else:
                yield from self.read(binding.value, binding.scope, depth)
        if not bindings:
            yield UNKNOWN

    def _table(self, node: ast.expr, scope: Scope) -> _Table | None:
        """The dict display that an expression stands for."""
        bindings = self._bindings(node, scope)
        if len(bindings) == 1 and bindings[0].element_of is None and bindings[0].value is not None:
            node, scope = bindings[0].value, bindings[0].scope
        if isinstance(node, ast.Call) and (result := self._result(node, scope)):
            node, scope = result
        match node:
            case ast.Dict():
                return _Table(node, scope)
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if all(k.arg for k in keywords):
                return _Table(ast.Dict([ast.Constant(k.arg) for k in keywords], [k.value for k in keywords]), scope)
        return None

    def _function(self, call: ast.Call, scope: Scope) -> Scope | None:
        """The function of the module that is called."""
        bindings = self._bindings(call.func, scope) if isinstance(call.func, ast.Name) else []
        function = bindings[0].scope if len(bindings) == 1 and bindings[0].defines else None
        return function if function and isinstance(function.node, ast.FunctionDef) else None

    def _result(self, call: ast.Call, scope: Scope) -> Value | None:
        """What a function of the module gives that is called without arguments and has one `return`."""
        function = self._function(call, scope)
        if function and not call.args and not call.keywords:
            values = returned(function)
            if len(values) == 1:
                return Value(values[0], function)
        return None

    def _given(self, call: ast.Call, scope: Scope, depth: int, position: tuple[int, ...] = ()) -> list[Key] | None:
        """What a call gives, or a part of that; None where it calls no function of the module that gives anything."""
        function = self._function(call, scope)
        values = returned(function) if function else []
        if not function or not values:
            return None
        around = self._arguments.get(function)
        given = self.arguments(call, scope, function, bound=False, wanted=function.bindings, depth=depth)
        self._arguments[function] = given
        keys = [key for value in values for key in self.read(_at(value, position), function, depth)]
        self._arguments[function] = around
        return keys

    def _contents_of_table(self, node: ast.expr, scope: Scope) -> list[Value] | None:
        method = "keys"
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in _VIEWS:
            node, method = called.value, called.attr
        table = self._table(node, scope)
        if table is None or None in table.node.keys:
            return None
        pairs = [(key, value) for key, value in zip(table.node.keys, table.node.values, strict=True) if key]
        chosen: dict[str, list[ast.expr]] = {
            "keys": [key for key, _ in pairs],
            "values": [value for _, value in pairs],
            "items": [ast.Tuple([key, value]) for key, value in pairs],
        }
        return [Value(element, table.scope) for element in chosen[method]]

    def _subscript(self, node: ast.Subscript, scope: Scope, depth: int) -> Iterable[Key]:
        position = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Call) and isinstance(position, int) and position >= 0:
            return self._given(node.value, scope, depth, (position,)) or [UNKNOWN]
        table = self._table(node.value, scope)
        if table is None:
            return [UNKNOWN]
        pairs = zip(table.node.keys, table.node.values, strict=True)
        values = table.node.values
        if isinstance(node.slice, ast.Constant):
            values = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == node.slice.value]
        return [key for value in values for key in self.read(value, table.scope, depth)]

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Iterable[Key]:
        found = self._given(node, scope, depth)
        if found is not None:
            return found
        match node:
            case ast.Call(func=ast.Name(id="str"), args=[value], keywords=[]):
                return self.read(value, scope, depth)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"), args=given):
                named = {keyword.arg: keyword.value for keyword in node.keywords}
                fields = [_field(name, index, given, named) for index, name in enumerate(_BRACES.findall(text))]
                return self._formatted(_BRACES.split(text)[::2], fields, scope, depth)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="join"), args=[given]):
                values = self.contents(given, scope, depth)
                if values is not None:
                    keys = [part for value in values for part in ([(text,)], self.read(value.node, value.scope, depth))]
                    return _joined(keys[1:])
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=[]) if method in _METHODS:
                change = _METHODS[method]
                return [
                    tuple(change(part) if isinstance(part, str) else Unknown() for part in key)
                    for key in self.read(value, scope, depth)
                ]
        return [UNKNOWN]

    def _formatted(
        self, literals: Sequence[str], given: Sequence[ast.expr | None], scope: Scope, depth: int
    ) -> Iterable[Key]:
        """Literals, with what is given between them."""
        parts: list[Sequence[Key]] = [[(literals[0],)]]
        for index, literal in enumerate(literals[1:]):
            node = given[index] if index < len(given) else None
            parts += (self.read(node, scope, depth), [(literal,)])
        return _joined(parts)


def rendered(key: Key) -> str:
    """The name, with `*` for each part that is not known."""
    text = "".join(part if isinstance(part, str) else ANY for part in key)
    while ANY * 2 in text:
        text = text.replace(ANY * 2, ANY)
    return text


def substituted(key: Key, function: Scope, arguments: Mapping[str, Sequence[Key]]) -> Iterable[Key]:
    """The key, with what a call gives for the parameters of a function; what grows too long is unknown."""
    parts = [
        arguments[part.name] if isinstance(part, Parameter) and part.function is function else [(part,)] for part in key
    ]
    return [joined if len(joined) <= _LONGEST else UNKNOWN for joined in _joined(parts)]


def _joined(parts: Sequence[Sequence[Key]]) -> Iterable[Key]:
    """Every way to put the parts one after another."""
    if prod(map(len, parts)) > _MOST:
        parts = [part if len(part) == 1 else [UNKNOWN] for part in parts]
    return [tuple(piece for key in keys for piece in key) for keys in product(*parts)]


def _at(node: ast.expr, positions: tuple[int, ...]) -> ast.expr | None:
    """A part of nested tuples."""
    for position in positions:
        if not isinstance(node, ast.Tuple | ast.List) or position >= len(node.elts):
            return None
        node = node.elts[position]
    return node


def _field(name: str, index: int, given: Sequence[ast.expr], named: Mapping[str | None, ast.expr]) -> ast.expr | None:
    """What a field of a format string stands for."""
    if name and not name.isdecimal():
        return named.get(name)
    position = int(name[:4]) if name else index
    return given[position] if position < len(given) else None
