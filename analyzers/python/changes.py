"""Which names' objects a module changes: by an item, by an attribute, or by a method that changes a container."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from analyzers.python.bindings import Binding, bindings
from analyzers.python.nodes import children, dotted, walk

_METHODS = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "appendleft", "popleft"),
        *("extendleft", "rotate", "add", "discard", "update", "setdefault", "popitem", "move_to_end"),
        *("difference_update", "intersection_update", "symmetric_difference_update"),
    )
)
"""Methods that change the list, deque, set or mapping that they belong to."""
_OF_MODULE = Binding(0, "", "")
"""Stands for no function's binding."""
_CHANGING = (ast.Call, ast.Subscript, ast.Attribute, ast.AugAssign)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Change(NamedTuple):
    """A place that changes what a name of the module holds."""

    name: str
    """Dotted, as far as names go: `a.b` of `a.b[0].append(1)`."""
    line: int
    in_function: bool
    imported: Binding | None
    """How a function around it imports the first part of the name; None where the name is one of the module."""


def changes(module: ast.Module, names: Container[str]) -> Iterator[Change]:
    """Every place that changes what some names of the module, or names that it imports, hold.

    Names that a function binds for itself are left out, unless it does so by an import.

    Args:
        module: the module.
        names: what the first part of a change's name may be.
    """
    return _changes(module.body, names, ())


def _changes(nodes: Sequence[ast.AST], names: Container[str], around: Sequence[_Function]) -> Iterator[Change]:
    waiting = [*nodes]
    for node in waiting:
        if isinstance(node, _FUNCTIONS):
            function = _Function(node)
            yield from _changes(function.body, names, (function, *around))
            waiting += (node.args, *getattr(node, "decorator_list", ()))
            continue
        waiting += children(node)
        if not isinstance(node, _CHANGING):
            continue
        if (name := _changed_by(node)) and (first := name.partition(".")[0]) in names:
            own = next((function.own[first] for function in around if first in function.own), _OF_MODULE)
            if own is not None:
                yield Change(name, node.lineno, bool(around), None if own is _OF_MODULE else own)


def _changed_by(node: ast.Call | ast.Subscript | ast.Attribute | ast.AugAssign) -> str:
    """The name whose object one node changes, dotted; empty where it changes none, or none that has a name.

    `a.b = 1` gives `a.b`, which may be an attribute of `a` as well as a name of the module `a`.
    """
    if isinstance(node, ast.Call):
        function = node.func
        return _name_in(function.value) if isinstance(function, ast.Attribute) and function.attr in _METHODS else ""
    if isinstance(node, ast.AugAssign):
        return dotted(node.target) if _adds_in_place(node) else ""
    if isinstance(node.ctx, ast.Load):
        return ""
    return _name_in(node.value if isinstance(node, ast.Subscript) else node)


def _adds_in_place(node: ast.AugAssign) -> bool:
    """Whether what is added tells that the target is a list or a mapping; others may be bound anew."""
    match node:
        case ast.AugAssign(op=ast.Add(), value=ast.List() | ast.ListComp()):
            return True
        case ast.AugAssign(op=ast.BitOr(), value=ast.Dict() | ast.DictComp()):
            return True
    return False


def _name_in(node: ast.expr) -> str:
    while not (name := dotted(node)) and isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return name


class _Function:
    """A function, and the names that it binds for itself; few are ever asked for theirs."""

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        self._node = node
        self.body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body

    @cached_property
    def own(self) -> Mapping[str, Binding | None]:
        """Each name, with where it is imported from if that is all that binds it."""
        own: dict[str, Binding | None] = {node.arg: None for node in walk(self._node.args) if isinstance(node, ast.arg)}
        of_others: set[str] = set()
        waiting = [*self.body]
        for node in waiting:
            if isinstance(node, ast.Global | ast.Nonlocal):
                of_others.update(node.names)
            for name, binding in _bound(node):
                own[name] = None if name in own else binding
            if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                waiting += children(node)
        return {name: binding for name, binding in own.items() if name not in of_others}


def _bound(node: ast.AST) -> Iterator[tuple[str, Binding | None]]:
    """The names that one node binds: a target, an import, a definition, a caught exception or a matched pattern."""
    yield from bindings(node)
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id, None
    elif isinstance(name := getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None), str):
        yield name, None
