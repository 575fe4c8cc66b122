"""What an annotation speaks of: the names of the types whose instances a value may be or hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.configuration.outline import TypeName
from analyzers.python.nodes import dotted, last_part
from analyzers.python.parsing import parse_expression

_ONE_OF = frozenset(
    (
        *("Optional", "Union", "Final", "Required", "NotRequired", "ReadOnly"),
        *("SkipValidation", "InstanceOf", "SerializeAsAny"),
    )
)
"""What stands for its arguments themselves."""
_HOLDS_NOTHING = frozenset(("Literal", "Callable", "Type", "type", "ClassVar", "InitVar"))
"""What holds no instance of what its arguments name."""
_NO_FIELD = frozenset(("ClassVar", "InitVar", "KW_ONLY"))


def type_names(node: ast.expr | None, *, many: bool = False) -> Iterator[TypeName]:
    """Every name that an annotation, possibly one in quotes, speaks of."""
    match node:
        case ast.Constant(value=str(text)):
            inner = parse_expression(text)
            if inner is not None and not isinstance(inner, ast.Constant):
                yield from type_names(inner, many=many)
        case ast.Name() | ast.Attribute():
            if name := dotted(node):
                yield TypeName(name, many)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from type_names(left, many=many)
            yield from type_names(right, many=many)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from type_names(element, many=many)
        case ast.Subscript(value=value, slice=argument):
            yield from _subscript(dotted(value), argument, many)


def annotated_metadata(node: ast.expr | None) -> list[ast.expr]:
    """What `Annotated[T, ...]`, by whatever name, says of T; nothing for any other annotation."""
    if isinstance(node, ast.Subscript) and _is_annotated(dotted(node.value), node.slice):
        assert isinstance(node.slice, ast.Tuple)
        return node.slice.elts[1:]
    return []


def declares_field(node: ast.expr) -> bool:
    """Whether an annotation in a class body makes a field: `ClassVar`, `InitVar` and `KW_ONLY` do not."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        inner = parse_expression(node.value)
        return inner is None or declares_field(inner)
    if isinstance(node, ast.Subscript):
        name = last_part(dotted(node.value))
        if name in ("Annotated", "Final"):
            first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            return declares_field(first)
        return name not in _NO_FIELD
    return last_part(dotted(node)) not in _NO_FIELD


def _subscript(outer: str, argument: ast.expr, many: bool) -> Iterator[TypeName]:
    name = last_part(outer)
    if name in _HOLDS_NOTHING or not outer:
        return
    if _is_annotated(outer, argument):
        assert isinstance(argument, ast.Tuple)
        yield from type_names(argument.elts[0], many=many)
    elif name in _ONE_OF:
        yield from type_names(argument, many=many)
    else:
        yield TypeName(outer, many)
        yield from type_names(argument, many=True)


def _is_annotated(outer: str, argument: ast.expr) -> bool:
    """A subscript whose further arguments are calls or sentences is `Annotated`, whatever it is called."""
    if not isinstance(argument, ast.Tuple) or len(argument.elts) < 2 or last_part(outer) == "Literal":
        return False
    return last_part(outer) == "Annotated" or any(map(_is_metadata, argument.elts[1:]))


def _is_metadata(node: ast.expr) -> bool:
    match node:
        case ast.Call() | ast.JoinedStr():
            return True
        case ast.Constant(value=str(text)):
            return parse_expression(text) is None
        case ast.BinOp(left=left, op=ast.Add()):
            return _is_metadata(left)
    return False
