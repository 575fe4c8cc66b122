"""Names at module level whose value changes while the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from analyzers.configuration.outline import GlobalFact
from analyzers.python.nodes import dotted, last_part, walk
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
    containers = {
        name: value
        for name, (_, value) in bound.items()
        if value is not None and _is_container(value) and not name.startswith("__")
    }
    nodes = walk(module)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    # Most files say at once that there is nothing to look for in their functions.
    rebinding = functions if any(isinstance(node, ast.Global) for node in nodes) else []
    changing = functions if any(name in containers for node in nodes for name in _change(node)) else []
    rebound = {name for function in rebinding for name in _rebound(function)}
    changed = {name for function in changing for name in _changed(function)}
    found = []
    for name, (statement, _) in bound.items():
        if name in rebound:
            found.append(GlobalFact(name, *places.of(statement), "a function binds it anew"))
        elif name in containers:
            if name in changed:
                found.append(GlobalFact(name, *places.of(statement), "a function changes what it holds"))
            elif _is_empty(containers[name]) and not _filled(statements, name):
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
    nodes = walk(function)
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    return declared & {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    }


def _changed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names whose object a function changes, unless they are its own."""
    nodes = walk(function)
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {name for node in nodes for name in _change(node)} - own


def _change(node: ast.AST) -> tuple[str, ...]:
    """The name whose object a call or an assignment changes, if there is one."""
    if isinstance(node, ast.Call | ast.Subscript):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGES:
                return (name,)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                return (name,)
    return ()


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
    return any(name in _change(node) for statement in statements for node in walk(statement)) or any(
        isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name
        for statement in statements
    )
