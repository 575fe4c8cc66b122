"""From the text of a file to what it declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.declarations.expressions import Row, RowReader, source_of
from analyzers.declarations.outline import UNPARSED, ClassOutline, Member, Outline
from analyzers.python.bindings import bindings
from analyzers.python.changes import changes
from analyzers.python.nodes import dotted, module_statements, walk
from analyzers.python.parsing import Places, parse_module

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def outline_of(text: str) -> Outline:
    """Read one file."""
    module = parse_module(text)
    try:
        return _outline(module, text) if module is not None else UNPARSED
    except RecursionError:
        return UNPARSED


def _outline(module: ast.Module, text: str) -> Outline:
    places = Places(text)
    rows = RowReader(places)
    bound: dict[str, list[tuple[int, Row | None]]] = {}
    plain = {*module.body}
    for statement in module_statements(module):
        for name, value in _bindings(statement):
            row = rows.row(value) if value is not None and statement in plain else None
            bound.setdefault(name, []).append((statement.lineno, row))
    imported: set[str] = set()
    for node in walk(module):
        if isinstance(node, ast.Global):  # a function binds these anew
            for name in node.names:
                bound.setdefault(name, []).append((node.lineno, None))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported.update(name for name, _ in bindings(node))
    names: dict[str, Row] = {}
    unfit: dict[str, tuple[int, str]] = {}
    for name, values in bound.items():
        line, row = values[-1]
        if len(values) > 1:
            unfit[name] = (line, f"is bound {len(values)} times")
        elif row is None:
            unfit[name] = (line, "is not bound by a plain statement of its module")
        else:
            names[name] = row
    classes = {node.name: _class(node, rows) for node in module.body if isinstance(node, ast.ClassDef)}
    functions = [node.name for node in module.body if isinstance(node, _FUNCTIONS)]
    imports = dict(pair for statement in module_statements(module) for pair in bindings(statement))
    changed = [
        change if change.imported else change._replace(imported=imports.get(change.name.partition(".")[0]))
        for change in changes(module, bound.keys() | imported)
    ]
    return Outline(names, unfit, imports, classes, functions, changed)


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement binds, each with what it then holds where that is written there."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, value
                else:
                    yield from ((name, None) for name in _stored(target))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.AugAssign(target=target) | ast.For(target=target):
            yield from ((name, None) for name in _stored(target))
        case ast.With(items=items):
            for item in items:
                yield from ((name, None) for name in _stored(item.optional_vars))


def _stored(target: ast.expr | None) -> Iterator[str]:
    for node in walk(target) if target is not None else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _class(node: ast.ClassDef, rows: RowReader) -> ClassOutline:
    bases = [*filter(None, map(dotted, node.bases))]
    return ClassOutline(node.lineno, bases, [*map(_decorator, node.decorator_list)], [*_members(node, rows)])


def _decorator(node: ast.expr) -> tuple[str, dict[str, bool]]:
    if not isinstance(node, ast.Call):
        return dotted(node), {}
    flags = {
        keyword.arg: keyword.value.value
        for keyword in node.keywords
        if keyword.arg and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
    }
    return dotted(node.func), flags


def _members(node: ast.ClassDef, rows: RowReader) -> Iterator[Member]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                row = None if value is None else rows.row(value)
                yield Member(name, statement.lineno, source_of(annotation), row)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield Member(name, statement.lineno, "", rows.row(value))
