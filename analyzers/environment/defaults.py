"""What a getter gives where its variable is not set, as far as its source says so."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

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


class UnknownDefaultError(Exception):
    """The expression is more than this reader understands."""


def default_of(node: ast.expr) -> Any:
    """The value of a getter's expression in an empty environment: nothing is run, only conversions are followed.

    Raises:
        UnknownDefaultError: the value cannot be told.
    """
    try:
        return _value(node)
    except (ValueError, TypeError, RecursionError):
        raise UnknownDefaultError from None


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


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [_value(element) for element in elements]
        case ast.Call():
            return _called(node)
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            if isinstance(right, ast.Attribute) and right.attr == "environ":
                return isinstance(sign, ast.NotIn)
            return _COMPARISONS[type(sign)](_value(left), _value(right)) if type(sign) in _COMPARISONS else _unknown()
        case ast.BoolOp(op=sign, values=values):
            for value in map(_value, values):
                if bool(value) == isinstance(sign, ast.Or):
                    return value
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.IfExp(test=test, body=first, orelse=second):
            return _value(first) if _value(test) else _value(second)
    return _unknown()


def _called(node: ast.Call) -> Any:
    if node.keywords:
        return _unknown()
    match node.func:
        case ast.Name(id=name) if name in _FUNCTIONS and len(node.args) == 1:
            return _FUNCTIONS[name](_value(node.args[0]))
        case ast.Attribute(value=value, attr=method) if method in _METHODS and not node.args:
            return _METHODS[method](_value(value))
    if _READ.fullmatch(ast.unparse(node.func)) and node.args:
        return _value(node.args[1]) if len(node.args) > 1 else None
    return _unknown()


def _unknown() -> Any:
    raise UnknownDefaultError
