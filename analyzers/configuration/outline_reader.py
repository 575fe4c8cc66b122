"""From a syntax tree to the outline of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from analyzers.configuration.annotations import annotated_metadata, declares_field, type_names
from analyzers.configuration.class_bodies import Function, read_method
from analyzers.configuration.mutable_globals import mutable_globals
from analyzers.configuration.outline import ClassFact, FieldFact, RecordFact, TypeName
from analyzers.python.bindings import bindings
from analyzers.python.nodes import dotted, module_statements, walk
from analyzers.python.parsing import Places

_OLD_ATTRS = frozenset(("attr.ib", "attr.attrib", "attrs.field", "attrib", "ib"))
"""What declares a field without an annotation."""


def read_outline(module: ast.Module, text: str) -> Sequence[Any]:
    """What a file declares, as `Outline` stores it."""
    places = Places(text)
    statements = list(module_statements(module))
    # What functions import comes first, so that the module's own imports win.
    bound = [pair for node in (*_imports_in_functions(module), *statements) for pair in bindings(node)]
    imports = {name: binding for name, binding in bound if name != "*"}
    stars = [binding._replace(name="") for name, binding in bound if name == "*"]
    classes = [found for node in statements if isinstance(node, ast.ClassDef) for found in _classes(node, "", places)]
    functions = {node.name: list(type_names(node.returns)) for node in statements if isinstance(node, Function)}
    returning = {name: types for name, types in functions.items() if types}
    aliases = {name: types for node in statements for name, types in _type_alias(node)}
    tables = {name: rows for node in statements for name, rows in _table(node, places)}
    return (imports, stars, classes, returning, aliases, mutable_globals(module, statements, places), tables)


def _imports_in_functions(module: ast.Module) -> Iterator[ast.stmt]:
    for node in walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset:
            yield node


def _classes(node: ast.ClassDef, prefix: str, places: Places) -> Iterator[ClassFact]:
    """A class and those within it."""
    name = prefix + node.name
    yield ClassFact(
        name,
        *places.of(node),
        bases=[base for expression in node.bases if (base := _base(expression))],
        decorators=[decorator for expression in node.decorator_list if (decorator := _called(expression))],
        frozen=any(map(_is_frozen, (*node.decorator_list, *node.body))) or _says_true(node.keywords, "frozen"),
        environment_prefix=next(filter(None, map(_environment_prefix, node.body)), ""),
        fields=[field for statement in node.body for field in _field(statement, places)],
        methods=[read_method(statement) for statement in node.body if isinstance(statement, Function)],
    )
    for statement in node.body:
        if isinstance(statement, ast.ClassDef):
            yield from _classes(statement, f"{name}.", places)


def _base(node: ast.expr) -> str:
    return dotted(node.value if isinstance(node, ast.Subscript) else node)


def _called(node: ast.expr) -> str:
    return dotted(node.func if isinstance(node, ast.Call) else node)


def _is_frozen(node: ast.AST) -> bool:
    """Whether a decorator, or the `model_config` of a pydantic class, freezes its instances."""
    match node:
        case ast.Assign(targets=[ast.Name(id="model_config")], value=ast.Call(keywords=keywords)):
            return _says_true(keywords, "frozen")
        case ast.Call(func=function, keywords=keywords):
            return dotted(function) in ("attrs.frozen", "frozen") or _says_true(keywords, "frozen")
        case ast.Name() | ast.Attribute():
            return dotted(node) in ("attrs.frozen", "frozen")
    return False


def _says_true(keywords: list[ast.keyword], name: str) -> bool:
    return any(k.arg == name and isinstance(k.value, ast.Constant) and k.value.value is True for k in keywords)


def _environment_prefix(node: ast.stmt) -> str:
    """The prefix that `model_config = SettingsConfigDict(env_prefix=...)`, or the `Config` in a class, names."""
    match node:
        case ast.Assign(targets=[ast.Name(id="model_config")], value=ast.Call(keywords=keywords)):
            return next((_text(k.value) for k in keywords if k.arg == "env_prefix"), "")
        case ast.ClassDef(name="Config", body=body):
            return next(filter(None, map(_environment_prefix, body)), "")
        case ast.Assign(targets=[ast.Name(id="env_prefix")], value=ast.Constant(value=str(prefix))):
            return prefix
    return ""


def _field(node: ast.stmt, places: Places) -> Iterator[FieldFact]:
    annotation: ast.expr | None
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
            if not declares_field(annotation):
                return
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function) as value):
            if dotted(function) not in _OLD_ATTRS:
                return
            annotation = None
        case _:
            return
    call = value if isinstance(value, ast.Call) else None
    declared = [call] if call else []
    declared += [item for item in annotated_metadata(annotation) if isinstance(item, ast.Call)]
    notes = [item for item in annotated_metadata(annotation) if not isinstance(item, ast.Call)]
    keywords = {"help": _written(notes[0])} if len(notes) == 1 else {}
    for item in reversed(declared):
        keywords |= dict(_keywords(item))
    yield FieldFact(
        name=name,
        line=places.of(node)[0],
        column=places.of(node)[1],
        annotation=_written(annotation),
        types=list(type_names(annotation)),
        value=_written(value),
        call=dotted(call.func) if call else "",
        arguments=[ast.unparse(argument) for argument in call.args] if call else [],
        keywords=keywords,
        end_line=node.end_lineno or node.lineno,
    )


def _keywords(call: ast.Call) -> Iterator[tuple[str, str]]:
    """The keyword arguments of a call; `metadata={...}` is taken for keyword arguments of its own."""
    for keyword in call.keywords:
        if keyword.arg == "metadata" and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                if key is not None:
                    yield _text(key), _written(value)
        elif keyword.arg:
            yield keyword.arg, _written(keyword.value)


def _written(node: ast.expr | None) -> str:
    return ast.unparse(node) if node else ""


def _text(node: ast.expr) -> str:
    """A string by its value, anything else as it is written."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _type_alias(node: ast.stmt) -> Iterator[tuple[str, list[TypeName]]]:
    """A name that an assignment makes stand for types; whether they are types the resolution will find out."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
            if not dotted(annotation).endswith("TypeAlias"):
                return
        case _:
            return
    if isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp) and (types := list(type_names(value))):
        yield name, types


def _table(node: ast.stmt, places: Places) -> Iterator[tuple[str, list[RecordFact]]]:
    """A module-level sequence of records, or a mapping from strings to records or strings."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            return
    if isinstance(value, ast.Call) and len(value.args) == 1:  # MappingProxyType({...}), tuple([...])
        value = value.args[0]
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(value, ast.Dict):
        pairs = list(zip(value.keys, value.values, strict=True))
    elif isinstance(value, ast.Tuple | ast.List):
        pairs = [(None, element) for element in value.elts if isinstance(element, ast.Call)]
    if rows := [row for key, entry in pairs if (row := _record(key, entry, places))]:
        yield name, rows


def _record(key: ast.expr | None, entry: ast.expr, places: Places) -> RecordFact | None:
    name = _text(key) if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    place = places.of(entry if key is None else key)
    match entry:
        case ast.Call(keywords=keywords):
            return RecordFact(name, "", *place, {k.arg: _text(k.value) for k in keywords if k.arg})
        case ast.Constant(value=str(text)) if name:
            return RecordFact(name, text, *place, {})
    return None
