"""What one Python file declares at module level: names, imports and classes, as far as they can be read as data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from analyzers.declarations.expressions import Row, RowReader, dotted, source_of
from analyzers.python.parsing import Places, parse_module
from analyzers.source import Source

_VERSION = 1
"""Goes up whenever the same text may give another outline."""

_CHANGING = frozenset(
    ("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse")
) | {"setdefault", "sort", "update"}
"""Methods that change the list, set or mapping that they belong to."""
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Member(NamedTuple):
    """A statement of a class body that binds a name."""

    name: str
    line: int
    annotation: str
    """Its source; empty where there is none."""
    value: Row | None


class ClassOutline(NamedTuple):
    """A class at module level."""

    line: int
    bases: list[str]
    """Dotted names; what is no name is left out."""
    decorators: list[tuple[str, dict[str, bool]]]
    """Dotted names, each with the keywords that are given True or False."""
    members: list[Member]


@dataclass(frozen=True)
class Outline:
    """What a module says of itself."""

    names: dict[str, Row]
    """What is bound once, by a statement of the module itself."""
    unfit: dict[str, tuple[int, str]]
    """Other names that the module binds: the line, and why what they hold is not certain."""
    imports: dict[str, tuple[int, str, str]]
    """Local name -> level, module, and the name in it; that is empty for the module itself."""
    classes: dict[str, ClassOutline]
    functions: list[str]
    parsed: bool = True
    """A file that does not parse says nothing."""

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Outline:
        classes = {
            name: ClassOutline(line, bases, [(who, flags) for who, flags in decorators], [Member(*m) for m in members])
            for name, (line, bases, decorators, members) in stored["classes"].items()
        }
        return cls(**{**stored, "classes": classes})


@dataclass(frozen=True)
class OutlineExtractor:
    """The outline of a Python file; it depends on no setting."""

    kind: str = f"declarations@{_VERSION}"

    def extract(self, source: Source) -> dict[str, Any]:
        """The fact, as `Outline.from_json` reads it."""
        return vars(outline_of(source.text))


def outline_of(text: str) -> Outline:
    """Read one file."""
    module = parse_module(text)
    try:
        return _outline(module, text) if module is not None else UNPARSED
    except RecursionError:
        return UNPARSED


UNPARSED = Outline({}, {}, {}, {}, [], parsed=False)
"""What is known of a file that cannot be read."""


def _outline(module: ast.Module, text: str) -> Outline:
    places = Places(text)
    rows = RowReader(places)
    bound: dict[str, list[tuple[int, Row | None]]] = {}
    changed: dict[str, int] = {}
    for statement, nested in _statements(module):
        for name, value in _bindings(statement):
            row = None if nested or value is None else rows.row(value)
            bound.setdefault(name, []).append((statement.lineno, row))
        for name in _changes(statement):
            changed.setdefault(name, statement.lineno)
    for name, line in _rebound_by_functions(module):
        bound.setdefault(name, []).append((line, None))
    names: dict[str, Row] = {}
    unfit: dict[str, tuple[int, str]] = {}
    for name, bindings in bound.items():
        line, row = bindings[-1]
        if len(bindings) > 1:
            unfit[name] = (line, f"is bound {len(bindings)} times")
        elif name in changed:
            unfit[name] = (changed[name], "is changed after it is bound")
        elif row is None:
            unfit[name] = (line, "is not bound by a plain statement of its module")
        else:
            names[name] = row
    classes = {node.name: _class(node, rows) for node in module.body if isinstance(node, ast.ClassDef)}
    functions = [node.name for node in module.body if isinstance(node, _FUNCTIONS)]
    return Outline(names, unfit, dict(_imports(module)), classes, functions)


def _statements(module: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements that run with the module, in order, and whether each is inside `if`, `try` and the like."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, False) for statement in reversed(module.body)]
    while waiting:
        node, nested = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node, nested
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            inner = [child for block in _BLOCKS for child in getattr(node, block, ())]
            waiting += [(child, True) for child in reversed(inner)]


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
    for node in ast.walk(target) if target is not None else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _changes(statement: ast.stmt) -> Iterator[str]:
    """The names whose object a statement changes by an item, an attribute or a method."""
    targets: list[ast.expr] = []
    match statement:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            targets = [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            if method in _CHANGING:
                yield name
    for changed in targets:
        root = changed
        while isinstance(root, ast.Subscript | ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root is not changed:
            yield root.id


def _rebound_by_functions(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            yield from ((name, node.lineno) for name in node.names)


def _imports(module: ast.Module) -> Iterator[tuple[str, tuple[int, str, str]]]:
    for statement, _ in _statements(module):
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    yield alias.asname or whole, (0, whole, "")
            case ast.ImportFrom(module=source, names=names, level=level):
                for alias in names:
                    yield alias.asname or alias.name, (level, source or "", alias.name)


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
