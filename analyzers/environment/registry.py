"""Reads registries: mappings of names, tuples of records, classes of fields, functions under a decorator."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from analyzers.environment.defaults import Defaults, UnknownDefaultError
from analyzers.environment.keys import KeyReader, rendered
from analyzers.environment.literals import Literals, NotLiteralError, Record
from analyzers.environment.python import read_python
from analyzers.environment.registrations import DEFAULT, Registration
from analyzers.environment.scopes import Reader
from analyzers.environment.settings_class import read_class
from analyzers.environment.uses import ANY, Use
from analyzers.python.lexer import lex
from analyzers.python.nodes import module_statements
from analyzers.python.statements import parse, statements

_COLLECTIONS = (ast.Dict, ast.Tuple, ast.List, ast.Set, ast.BinOp, ast.DictComp, ast.Call, ast.Name)
_COPIES = frozenset(("dict", "tuple", "list", "set", "frozenset", "MappingProxyType", "OrderedDict", "Mapping"))


def read_bound(text: str, symbol: str, wrappers: Sequence[str] = ()) -> list[Registration] | None:
    """The entries of what a symbol is bound to; None where that is nothing that could be a registry.

    Args:
        text: the file.
        symbol: a name that it binds at module level.
        wrappers: functions, defined anywhere, that read the variable that their first argument names.
    """
    return _reader(text, wrappers).bound(symbol)


def read_decorated(text: str, decorator: str, wrappers: Sequence[str] = ()) -> list[Registration]:
    """The entries under a decorator; the arguments are those of `read_bound`."""
    return list(_reader(text, wrappers).decorated(decorator))


def _reader(text: str, wrappers: Sequence[str]) -> _RegistryReader:
    module = parse(text, statements(lex(text))).module
    return _RegistryReader(module, read_python(text, wrappers).uses)


class _RegistryReader:
    def __init__(self, module: ast.Module, uses: Sequence[Use]) -> None:
        self._module = module
        self._uses = uses
        self._literals = Literals(module)
        self._defaults = Defaults(self._literals.functions)
        self._followed: set[str] = set()
        self._outermost: ast.stmt | None = None
        """The statement of the module that is being read."""
        self._scopes: Reader | None = None

    def bound(self, symbol: str) -> list[Registration] | None:
        value = self._literals.values.get(symbol)
        made_by = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else symbol
        if made_by in self._literals.classes:
            return list(read_class(self._literals.classes[made_by], self._literals))
        if not isinstance(value, _COLLECTIONS):
            return None
        found: list[Registration] = []
        for outermost in self._module.body:
            self._outermost, self._scopes = outermost, None
            for statement in module_statements(ast.Module([outermost], [])):
                found += self._added(statement, symbol)
        return found

    def decorated(self, decorator: str) -> Iterator[Registration]:
        for node in ast.walk(self._module):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == decorator:
                    yield from self._named(call, node)

    def _added(self, statement: ast.stmt, symbol: str) -> Iterator[Registration]:
        """What a statement puts into the registry."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == symbol:
                yield from self._display(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if name == symbol and value is not None:
                yield from self._display(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value) if name == symbol:
                yield from self._display(value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
                if name == symbol:
                    yield from self._pair(key, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=[value])):
                if name == symbol and method in ("update", "extend"):
                    yield from self._display(value)
                elif name == symbol and method in ("append", "add"):
                    yield from self._element(value)

    def _display(self, node: ast.expr) -> Iterator[Registration]:
        """The entries of an expression that makes a collection."""
        match node:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    yield from self._pair(key, value) if key else self._display(value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                for element in elements:
                    yield from self._element(element)
            case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
                yield from self._display(left)
                yield from self._display(right)
            case ast.DictComp(key=ast.JoinedStr() | ast.BinOp() | ast.Call() as key, value=value):
                yield from self._pair(key, value, node)
            case ast.DictComp(generators=[ast.comprehension(iter=inner)]):
                yield from self._display(inner)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if name in _COPIES:
                for argument in arguments[:1]:
                    yield from self._display(argument)
                for keyword in node.keywords:
                    if keyword.arg:
                        yield from self._pair(ast.copy_location(ast.Constant(keyword.arg), keyword), keyword.value)
            case ast.Name(id=name) if name in self._literals.values and name not in self._followed:
                self._followed.add(name)
                yield from self._display(self._literals.values[name])

    def _element(self, node: ast.expr) -> Iterator[Registration]:
        match node:
            case ast.Starred(value=value):
                yield from self._display(value)
            case ast.Call():
                yield from self._named(node, node)
            case ast.Name(id=name) if isinstance(call := self._literals.values.get(name), ast.Call):
                yield from self._named(call, call)
            case ast.Constant(value=str(name)):
                yield Registration(name, node.lineno, node.col_offset + 1, {})

    def _named(self, call: ast.Call, getter: ast.AST) -> Iterator[Registration]:
        """A record that states its own name: in the field `name`, or as its first literal."""
        record = self._literals.record(call)
        first = next((value for value in record.fields.values() if isinstance(value, str)), None)
        name = record.fields.get("name", first)
        if isinstance(name, str):
            yield self._registration(name, call, record, getter)

    def _pair(self, key: ast.expr, value: ast.expr, around: ast.expr | None = None) -> Iterator[Registration]:
        """The entries of a key, which may be computed from constants, also in a comprehension around it."""
        for name in self._names(key, around):
            if ANY in name:
                yield Registration(name, key.lineno, key.col_offset + 1, {})
                continue
            match value:
                case ast.Call():
                    yield self._registration(name, key, self._literals.record(value), value)
                case ast.Lambda():
                    yield self._registration(name, key, Record({}, []), value)
                case ast.Name(id=function):
                    getter = self._literals.functions.get(function)
                    yield self._registration(name, key, Record({}, []), getter)
                case _:
                    yield self._registration(name, key, self._plain(value), None)

    def _names(self, key: ast.expr, around: ast.expr | None) -> list[str]:
        constant = self._literals.values.get(key.id) if isinstance(key, ast.Name) else key
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
            return [constant.value]
        reader = self._scopes = self._scopes or self._read_scopes()
        scope = next((scope for scope in reader.scopes if scope.node is around), reader.module)
        return list(dict.fromkeys(map(rendered, KeyReader().read(key, scope))))

    def _read_scopes(self) -> Reader:
        """The scopes of the module. Loops may share their variables' names, so only the one that is read is in them."""
        body = [node for node in self._module.body if node is self._outermost or not isinstance(node, ast.For)]
        return Reader(ast.Module(body, []), range(1, (body[-1].end_lineno or 0) + 1))

    def _plain(self, value: ast.expr) -> Record:
        """A dict of fields, or the default alone."""
        try:
            found = self._literals.value(value)
        except NotLiteralError:
            return Record({}, [])
        return Record(found if isinstance(found, dict) else {DEFAULT: found}, [])

    def _registration(self, name: str, at: ast.expr, record: Record, getter: ast.AST | None) -> Registration:
        inside = self._read_in(name, getter) if getter is not None else []
        annotated = self._literals.annotated.get(name)
        declared = self._plain(annotated).fields if annotated is not None else {}
        return Registration(
            name,
            at.lineno,
            at.col_offset + 1,
            record.fields,
            record.computed,
            inside or None,
            self._given(getter),
            [declared[DEFAULT]] if DEFAULT in declared else [],
        )

    def _given(self, getter: ast.AST | None) -> list[Any]:
        """What a getter gives in an empty environment; empty where that cannot be told."""
        match getter:
            case ast.Call(keywords=keywords):
                inner = (keyword.value for keyword in keywords if isinstance(keyword.value, ast.Lambda))
                # A default that is given to what makes a getter is no declaration: it may still be converted.
                makes = not any(keyword.arg == DEFAULT for keyword in keywords)
                getter = next(inner, getter if makes else None)
        try:
            return [self._defaults.given_by(getter)] if isinstance(getter, ast.expr | ast.FunctionDef) else []
        except UnknownDefaultError:
            return []

    def _read_in(self, name: str, getter: ast.AST) -> list[str]:
        """What a getter reads. That it spells its own name is enough, whatever it gives it to."""
        inside = (node for part in _parts(getter) for node in ast.walk(part))
        spelled = any(isinstance(node, ast.Constant) and node.value == name for node in inside)
        read = [use.name for use in self._uses if use.reads and _holds(getter, use)]
        return list(dict.fromkeys([name, *read] if spelled and read else read))


def _parts(getter: ast.AST) -> list[ast.AST]:
    """What a getter is made of, without the literals of the record that it may be a part of."""
    match getter:
        case ast.Lambda(body=body):
            return [body]
        case ast.FunctionDef(body=statements) | ast.AsyncFunctionDef(body=statements):
            return list(statements)
        case ast.Call(args=arguments, keywords=keywords):
            given = [*arguments, *(keyword.value for keyword in keywords)]
            return [node for node in given if not isinstance(node, ast.Constant)]
    return []


def _holds(node: ast.AST, use: Use) -> bool:
    """Whether a use stands in a node, or in a function that it is."""
    assert isinstance(node, ast.expr | ast.stmt)
    start = (node.lineno, node.col_offset + 1)
    return start <= (use.line, use.column) <= (node.end_lineno or node.lineno, node.end_col_offset or 0)
