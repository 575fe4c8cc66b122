"""Lazy-import tables: the strings of a module that reach a call which imports what it is told to."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from analyzers.python.bindings import bindings
from analyzers.python.nodes import in_blocks, module_statements, walk

Text = tuple[ast.Constant, str]
"""A string literal and its value."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def constants(module: ast.Module) -> dict[str, str]:
    """The names that a module's own statements bind to a string, and that nothing else in the file binds."""
    values: dict[str, str] = {}
    for statement in _statements(module):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                values[name] = text
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))):
                values[name] = text
    nodes = walk(module) if values else ()
    bound = Counter(name for node in nodes for name in _bound_names(node))
    return {name: text for name, text in values.items() if bound[name] == 1}


def table_entries(module: ast.Module, lines: frozenset[int]) -> Iterator[Text]:
    """The strings of the tables from which calls on the given lines may take a name, and those written in the calls.

    A name reaches a call where the function, or the module-level statement, that holds the call uses it; where one
    that calls such a function, or the class that it is a method of, uses it; and where it has a part in what a table
    is made of. Tables are what statements of the module itself build, also under `if`, `try` and the like.
    """
    statements = list(_statements(module))
    calling = {statement for statement in statements if _spans(statement, lines)}
    names = _reaching(module, statements, calling, lines)
    for statement in statements:
        if statement in calling or not names.isdisjoint(_changed(statement)):
            yield from _held_by(statement)


def strings(*nodes: ast.expr | None) -> Iterator[Text]:
    """The strings that containers in the expressions hold, and those that a subscript of a name looks up."""
    waiting = list(nodes)
    while waiting:
        held: list[ast.expr | None] = []
        match waiting.pop():
            case ast.Dict(keys=keys, values=values):
                held = [*keys, *values]
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                held = [*elements]
            case ast.Subscript(value=value, slice=key) as subscript:
                held = [key] if _root(subscript) else []
                waiting.append(value)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                waiting += (function, *arguments, *(keyword.value for keyword in keywords))
            case ast.Attribute(value=value) | ast.Starred(value=value):
                waiting.append(value)
            case ast.BinOp(left=left, right=right):
                waiting += (left, right)
        for node in held:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node, node.value
            else:
                waiting.append(node)


def _statements(module: ast.Module) -> Iterator[ast.stmt]:
    """The statements that a module runs itself, also under `if`, `try` and the like: loops, and what holds no other."""
    for statement in module_statements(module):
        if isinstance(statement, ast.For) or not in_blocks(statement):
            yield statement


def _bound_names(node: ast.AST) -> Iterable[str]:
    """The names that a node binds, in whatever scope."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Import() | ast.ImportFrom():
            return (name for name, _ in bindings(node))
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name) if name:
            return (name,)
        case ast.MatchMapping(rest=name) if name:
            return (name,)
    return ()


def _reaching(
    module: ast.Module, statements: list[ast.stmt], calling: Iterable[ast.stmt], lines: frozenset[int]
) -> set[str]:
    """The names that may have a part in what the calls on the lines are told to import."""
    functions = list(_functions(module))
    importing = [(node, owner) for node, owner in functions if _spans(node, lines)]
    importers = {node.name for node, _ in importing} | {owner for _, owner in importing}
    users = [node for node in (*statements, *(node for node, _ in functions)) if _calls_any(node, importers)]
    names = set().union(*map(_used, (*calling, *(node for node, _ in importing), *users)))
    makers: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in _changed(statement):
            makers.setdefault(name, []).append(statement)
    waiting = list(names)
    while waiting:
        for statement in makers.get(waiting.pop(), ()):
            fresh = _used(statement) - names
            names |= fresh
            waiting += fresh
    return names


def _functions(module: ast.Module) -> Iterator[tuple[_Function, str]]:
    """The functions of a module, and its methods with the name of their class. What is defined inside one is a part
    of it."""
    waiting: list[tuple[ast.AST, str]] = [(module, "")]
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, _Function):
            yield node, owner
            continue
        owner = node.name if isinstance(node, ast.ClassDef) else owner
        waiting += ((child, owner) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def _spans(statement: ast.stmt, lines: frozenset[int]) -> bool:
    """Whether one of the lines is the statement's."""
    return not lines.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def _used(node: ast.AST) -> set[str]:
    return {name.id for name in walk(node) if isinstance(name, ast.Name)}


def _calls_any(node: ast.AST, names: Collection[str]) -> bool:
    """Whether something below a node calls one of the names."""
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names for call in walk(node)
    )


def _changed(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose object it changes by an item or by a method."""
    match statement:
        case ast.Assign(targets=targets):
            roots = map(_root, targets)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.For(target=target):
            roots = map(_root, [target])
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target))):
            roots = map(_root, [target])
        case _:
            return
    yield from filter(None, roots)


def _root(node: ast.expr) -> str:
    """The name that an expression of subscripts starts with; empty where it starts with something else."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _held_by(statement: ast.stmt) -> Iterator[Text]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            yield from strings(*targets, value)
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            yield from strings(target, value)
        case ast.Expr(value=value) | ast.For(iter=value):
            yield from strings(value)
