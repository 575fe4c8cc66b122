"""Names at module level whose value changes while the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from analyzers.configuration.annotations import dotted, last_part
from analyzers.configuration.outline import GlobalFact
from analyzers.python.parsing import Places

_CONTAINERS = frozenset(
    ("list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque", "WeakValueDictionary")
)
_CHANGES = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "appendleft", "popleft"),
        *("add", "discard", "update", "setdefault", "popitem", "difference_update", "intersection_update"),
    )
)
"""Methods that change a container."""


def mutable_globals(module: ast.Module, statements: Sequence[ast.stmt], places: Places) -> list[GlobalFact]:
    """The containers that start empty or are changed by functions, and the names that a function rebinds.

    A container that is full from the start and that no function of its file changes is a constant, whatever its type.
    """
    bound: dict[str, tuple[ast.stmt, ast.expr | None]] = {}
    for statement in statements:
        for name, value in _bindings(statement):
            bound.setdefault(name, (statement, value))
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    rebound = {name for function in functions for name in _rebound(function)}
    changed = {name for function in functions for name in _changed(function)}
    found = []
    for name, (statement, value) in bound.items():
        if name in rebound:
            found.append(GlobalFact(name, *places.of(statement), "a function binds it anew"))
        elif value is not None and _is_container(value) and not name.startswith("__"):
            if name in changed:
                found.append(GlobalFact(name, *places.of(statement), "a function changes what it holds"))
            elif _is_empty(value) and not _filled(statements, name):
                found.append(GlobalFact(name, *places.of(statement), "it starts as an empty container"))
    return found


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value


def _rebound(function: ast.AST) -> set[str]:
    """The global names that a function assigns."""
    declared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    if not declared:
        return set()
    return declared & {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    }


def _changed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names whose object a function changes, unless they are its own."""
    changed = {name for node in ast.walk(function) for name in _change(node)}
    if not changed:
        return changed
    own = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    own |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return changed - own


def _change(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGES:
            yield name
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            yield name


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return last_part(dotted(value.func)) in _CONTAINERS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=function, args=arguments, keywords=[]):
            return not arguments or last_part(dotted(function)) == "defaultdict"
    return False


def _filled(statements: Sequence[ast.stmt], name: str) -> bool:
    """Whether the module fills a container itself, while it loads."""
    return any(name in _change(node) for statement in statements for node in ast.walk(statement)) or any(
        isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name
        for statement in statements
    )
