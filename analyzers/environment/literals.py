"""Literal values in a parsed module, and the records that are made of them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from analyzers.environment.scopes import parameters
from analyzers.python.nodes import module_statements

_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}


class NotLiteralError(Exception):
    """An expression is computed."""


class Record(NamedTuple):
    """The fields of a constructor's call."""

    fields: dict[str, Any]
    computed: list[str]


class Literals:
    """Reads literals; of constructors it knows those that the module defines."""

    def __init__(self, module: ast.Module) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.values: dict[str, ast.expr] = {}
        """What names of the module are bound to; the last one counts."""
        self.annotated: dict[str, ast.expr] = {}
        for statement in module_statements(module):
            match statement:
                case ast.ClassDef(name=name):
                    self.classes[name] = statement
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.functions[name] = statement
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.values[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                    self.values[name] = self.annotated[name] = value

    def value(self, node: ast.expr) -> Any:
        """The value, of what JSON can hold.

        Raises:
            NotLiteralError: it is computed.
        """
        match node:
            case ast.Constant(value=None | bool() | int() | str() as value):
                return value
            case ast.Constant(value=float() as value) if math.isfinite(value):
                return value
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return [self.value(element) for element in elements]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                pairs = zip(keys, values, strict=True)
                return {str(self.value(key)): self.value(value) for key, value in pairs if key is not None}
            case ast.UnaryOp(op=ast.USub(), operand=operand) if isinstance(number := self.value(operand), int | float):
                return -number
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
                return self._number(self.value(left), sign, self.value(right))
            case ast.Call(func=ast.Name(id="frozenset" | "tuple" | "set"), args=[inner]):
                return self.value(inner)
            case ast.Call(func=ast.Name() | ast.Attribute()) if self.fields_of(node):
                record = self.record(node)
                if not record.computed:
                    return record.fields
        raise NotLiteralError

    def record(self, call: ast.Call) -> Record:
        """The fields that a call states; positional ones have the constructor's names, or their numbers."""
        names = self.fields_of(call)
        fields: dict[str, Any] = {}
        computed: list[str] = []
        stated = [(names[i] if i < len(names) else str(i), argument) for i, argument in enumerate(call.args)]
        stated += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        for name, node in stated:
            try:
                fields[name] = self.value(node)
            except NotLiteralError:
                computed.append(name)
        return Record(fields, computed)

    def fields_of(self, call: ast.Call) -> list[str]:
        """The constructor's parameters in order; none where the module does not define it."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        return list(self._fields(name, set()))

    def _fields(self, name: str, seen: set[str]) -> Iterator[str]:
        definition = self.classes.get(name)
        if definition is None or name in seen:
            return
        seen.add(name)
        for statement in definition.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                yield from [parameter for parameter, _ in parameters(statement.args)][1:]
                return
        for base in definition.bases:
            if isinstance(base, ast.Name):
                yield from self._fields(base.id, seen)
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                yield statement.target.id

    def _number(self, left: Any, sign: ast.operator, right: Any) -> Any:
        if not all(isinstance(side, int | float) and abs(side) < 2**64 for side in (left, right)):
            raise NotLiteralError
        try:
            return _ARITHMETIC[type(sign)](left, right)
        except ArithmeticError:
            raise NotLiteralError from None
