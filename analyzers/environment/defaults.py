"""What a getter gives where its variable is not set, as far as its source says so."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from analyzers.environment.scopes import parameters

_READ = re.compile(r"(?:\w+\.)*(?:getenv|environ\.get)")
_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "str": str}
_METHODS: Mapping[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper, "strip": str.strip}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


_MOST_STEPS = 500
"""Functions that call each other must not keep us."""


class UnknownDefaultError(Exception):
    """The source is more than this reader understands."""


class _Function(NamedTuple):
    node: ast.FunctionDef | ast.Lambda
    around: Mapping[str, Any]
    """What the names of the functions around it stand for."""


class Defaults:
    """Follows the getters of one module: nothing is run, and only what is understood in full is followed."""

    def __init__(self, functions: Mapping[str, ast.AST]) -> None:
        """Take in the functions that the module defines, by name."""
        self._functions = {
            name: _Function(node, {}) for name, node in functions.items() if isinstance(node, ast.FunctionDef)
        }
        self._steps = 0

    def given_by(self, getter: ast.expr | ast.FunctionDef) -> Any:
        """What a getter gives in an empty environment; it is a function, or a call that makes one.

        Raises:
            UnknownDefaultError: that cannot be told.
        """
        self._steps = _MOST_STEPS
        try:
            function = _Function(getter, {}) if isinstance(getter, ast.FunctionDef) else self._value(getter, {})
            value = self._result(function, [], {})
        except (ValueError, TypeError, RecursionError):
            raise UnknownDefaultError from None
        if value is None or isinstance(value, bool | int | float | str | list):
            return value
        raise UnknownDefaultError

    def _value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        self._steps -= 1
        match node:
            case _ if self._steps < 0:
                raise UnknownDefaultError
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in names or name in self._functions:
                return names[name] if name in names else self._functions[name]
            case ast.Lambda():
                return _Function(node, names)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return [self._value(element, names) for element in elements]
            case ast.Call():
                return self._call(node, names)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                if isinstance(right, ast.Attribute) and right.attr == "environ":
                    return isinstance(sign, ast.NotIn)
                if type(sign) in _COMPARISONS:
                    return _COMPARISONS[type(sign)](self._value(left, names), self._value(right, names))
            case ast.BoolOp(op=sign, values=values):
                for operand in values:
                    value = self._value(operand, names)
                    if bool(value) == isinstance(sign, ast.Or):
                        break
                return value
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand, names)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand, names)
            case ast.IfExp(test=test, body=first, orelse=second):
                return self._value(first if self._value(test, names) else second, names)
        raise UnknownDefaultError

    def _call(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        match node.func:
            case ast.Name(id=name) if name in _FUNCTIONS and len(node.args) == 1 and not node.keywords:
                return _FUNCTIONS[name](self._value(node.args[0], names))
            case ast.Attribute(value=value, attr=method) if method in _METHODS and not (node.args or node.keywords):
                return _METHODS[method](self._value(value, names))
        if _READ.fullmatch(ast.unparse(node.func)) and node.args and not node.keywords:
            return self._value(node.args[1], names) if len(node.args) > 1 else None
        given = [self._value(argument, names) for argument in node.args]
        named = {str(keyword.arg): self._value(keyword.value, names) for keyword in node.keywords}
        function = self._value(node.func, names)
        if isinstance(function, _Function) and getattr(function.node, "decorator_list", None):
            raise UnknownDefaultError
        return self._result(function, given, named)

    def _result(self, function: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        if not isinstance(function, _Function):
            raise UnknownDefaultError
        arguments = function.node.args
        names = [name for name, _ in parameters(arguments)]
        if arguments.vararg or arguments.kwarg or len(given) > len(names) or not named.keys() <= set(names):
            raise UnknownDefaultError
        inside = {**function.around, **dict(zip(names, given, strict=False)), **named}
        for name, default in parameters(arguments):
            if name not in names[: len(given)] and name not in named:
                inside[name] = self._value(default or _unknown(), function.around)
        if isinstance(function.node, ast.Lambda):
            return self._value(function.node.body, inside)
        returned = self._run(function.node.body, inside)
        return returned[0] if returned else None

    def _run(self, statements: Sequence[ast.stmt], names: dict[str, Any]) -> list[Any]:
        """What the first `return` gives that is reached; empty where none is."""
        for statement in statements:
            match statement:
                case ast.Return(value=value):
                    return [None if value is None else self._value(value, names)]
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.FunctionDef(name=name):
                    names[name] = _Function(statement, names)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names[name] = self._value(value, names)
                case ast.If(test=test, body=first, orelse=second):
                    returned = self._run(first if self._value(test, names) else second, names)
                    if returned:
                        return returned
                case _:
                    raise UnknownDefaultError
        return []


def agree(declared: object, given: object) -> bool:
    """Whether two defaults are the same: `"0"`, 0, 0.0 and False are, and so are None and the empty text."""
    return declared == given or _plain(declared) == _plain(given)


def _plain(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float() if value.is_integer():
            return str(int(value))
        case str() if value.lower() in ("true", "false"):
            return str(int(value.lower() == "true"))
    return str(value)


def _unknown() -> NoReturn:
    raise UnknownDefaultError
