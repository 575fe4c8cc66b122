"""The few kinds of expression that declarations are made of, as rows that JSON can hold.

A row starts with its kind, line and column (1-based, in characters); what follows depends on the kind:

    CONSTANT    the value
    NAME        a dotted name
    SEQUENCE    the items of a tuple or list
    SET         the items
    MAPPING     pairs of key and value
    UNION       what `|` joins, or a mapping with `**` in it, from left to right
    CALL        the dotted name that is called, the positional arguments, pairs of keyword and value
    OTHER       the source: what this vocabulary has no word for
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from analyzers.python.nodes import dotted

if TYPE_CHECKING:
    from analyzers.python.parsing import Places

Row = list[Any]
"""An expression, as it is stored."""

CONSTANT, NAME, SEQUENCE, SET, MAPPING, UNION, CALL, OTHER = range(8)

_LONGEST = 120
"""Characters kept of a source that is quoted."""
_CONSTANTS = (str, bool, int, float, type(None))


class RowReader:
    """Makes rows of the expressions of one file."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def row(self, node: ast.expr) -> Row:
        place = self._places.of(node)
        match node:
            case ast.Constant(value=value) if isinstance(value, _CONSTANTS):
                return [CONSTANT, *place, value]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return [CONSTANT, *place, -value]
            case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as value)):
                return [CONSTANT, *place, +value]
            case ast.Name() | ast.Attribute() if name := dotted(node):
                return [NAME, *place, name]
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return [SEQUENCE, *place, [*map(self.row, items)]]
            case ast.Set(elts=items):
                return [SET, *place, [*map(self.row, items)]]
            case ast.Dict(keys=keys, values=values):
                parts = [*self._mappings(place, zip(keys, values, strict=True))] or [[MAPPING, *place, []]]
                return [UNION, *place, parts] if None in keys else parts[0]
            case ast.BinOp(op=ast.BitOr()):
                return [UNION, *place, [*map(self.row, _operands(node))]]
            case ast.Call(func=function, args=arguments, keywords=keywords) if name := dotted(function):
                named = [[keyword.arg, self.row(keyword.value)] for keyword in keywords if keyword.arg is not None]
                if len(named) == len(keywords):
                    return [CALL, *place, name, [*map(self.row, arguments)], named]
        return [OTHER, *place, source_of(node)]

    def _mappings(self, place: tuple[int, int], pairs: Iterable[tuple[ast.expr | None, ast.expr]]) -> Iterator[Row]:
        """What `{"a": 1, **other}` joins: the pairs between two `**` are a mapping of their own."""
        for spread, group in groupby(pairs, key=lambda pair: pair[0] is None):
            if spread:
                yield from (self.row(value) for _, value in group)
            else:
                yield [MAPPING, *place, [[self.row(key), self.row(value)] for key, value in group if key is not None]]


def _operands(node: ast.expr) -> list[ast.expr]:
    """What a chain of `|` joins, from left to right."""
    found: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def source_of(node: ast.expr) -> str:
    """The expression as source, in one line, cut where it is long."""
    try:
        return _clipped(ast.unparse(node))
    except RecursionError:
        return "..."


def quoted(row: Row) -> str:
    """The expression as source, in one line, cut where it is long."""
    return _clipped(_source(row))


def _source(row: Row) -> str:
    match row:
        case [kind, _, _, value] if kind == CONSTANT:
            return repr(value)
        case [kind, _, _, items] if kind == SEQUENCE:
            return f"({', '.join(map(_source, items))})"
        case [kind, _, _, items] if kind == SET:
            return f"{{{', '.join(map(_source, items))}}}"
        case [kind, _, _, pairs] if kind == MAPPING:
            return f"{{{', '.join(f'{_source(key)}: {_source(value)}' for key, value in pairs)}}}"
        case [kind, _, _, operands] if kind == UNION:
            return " | ".join(map(_source, operands))
        case [kind, _, _, name, arguments, named] if kind == CALL:
            told = [*map(_source, arguments), *(f"{key}={_source(value)}" for key, value in named)]
            return f"{name}({', '.join(told)})"
    return str(row[3])


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
