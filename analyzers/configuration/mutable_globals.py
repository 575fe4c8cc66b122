"""Names at module level whose value changes while the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from analyzers.configuration.outline import GlobalFact
from analyzers.python.changes import changes
from analyzers.python.nodes import dotted, last_part, walk
from analyzers.python.parsing import Places

_CONTAINERS = frozenset(
    ("list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque", "WeakValueDictionary")
)


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
    rebound = {name for function in rebinding for name in _rebound(function)}
    told = [change for change in changes(module, containers) if change.imported is None]
    changed = {change.name for change in told if change.in_function}
    filled = {change.name for change in told} | {*_added_to(statements)}
    found = []
    for name, (statement, _) in bound.items():
        if name in rebound:
            found.append(GlobalFact(name, *places.of(statement), "a function binds it anew"))
        elif name in containers:
            if name in changed:
                found.append(GlobalFact(name, *places.of(statement), "a function changes what it holds"))
            elif _is_empty(containers[name]) and name not in filled:
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


def _added_to(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """The names to which the module itself adds, while it loads: `a += [1]`."""
    for statement in statements:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
