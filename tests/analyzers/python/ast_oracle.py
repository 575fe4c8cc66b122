"""What `ast` and `tokenize` say of a file, in the words of the reader under test."""

from __future__ import annotations

import ast
import io
import token
import tokenize
import warnings
from collections.abc import Iterator
from typing import Any

from analyzers.python.facts import ImportFlag
from analyzers.python.lexer import Lexed, lex
from analyzers.python.private import PUBLIC
from analyzers.python.structure import read_python
from analyzers.source import Source

Place = tuple[int, int]
Flat = dict[str, list[Any]]

_TEMPLATE_STARTS = {"FSTRING_START", "TSTRING_START"}
_TEMPLATE_ENDS = {"FSTRING_END", "TSTRING_END"}


def expected(text: str) -> Flat:
    """Everything that the reader must find in a valid file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    strings, comments, statements = _tokens(text)
    walker = _Walker(text, strings)
    walker.visit(tree)
    return {
        "strings": strings,
        "comments": comments,
        "statements": statements,
        "docstrings": walker.docstrings,
        "symbols": walker.symbols,
        "imports": sorted(walker.imports, key=lambda row: row[:2]),
        "private": sorted(walker.private_uses()),
    }


def actual(text: str) -> Flat:
    """The same from the reader."""
    lexed, facts = lex(text), read_python(Source("module.py", text))
    assert len(lexed.code) == len(text)
    return {
        "strings": [_places(lexed, span) for span in lexed.strings],
        "comments": [_places(lexed, span) for span in lexed.comments],
        "statements": list(_logical_lines(lexed)),
        "docstrings": [_places(lexed, span) for span in lexed.docstrings],
        "symbols": [tuple(row) for row in facts.symbols],
        "imports": [
            (row.line, row.column, row.level, row.module, row.names, facts.symbol_name(row.symbol), row.flags)
            for row in facts.imports
            if not row.flags & (ImportFlag.DYNAMIC | ImportFlag.LAZY)
        ],
        "private": sorted(
            (*_outside_strings(lexed, row.line, row.column), row.owner, row.name, facts.symbol_name(row.symbol))
            for row in facts.private
        ),
    }


def _places(lexed: Lexed, span: tuple[int, int]) -> tuple[Place, Place]:
    return lexed.position(span[0]), lexed.position(span[1])


def _logical_lines(lexed: Lexed) -> Iterator[int]:
    """The line on which each logical line that holds something starts."""
    offset = 0
    for line in lexed.code.split("\n"):
        bare = line.lstrip(" \t\f")
        if bare:
            yield lexed.position(offset + len(line) - len(bare))[0]
        offset += len(line) + 1


def _outside_strings(lexed: Lexed, line: int, column: int) -> Place:
    """A place; (0, 0) within an f-string, of which Python 3.11 gives wrong ones."""
    inside = lexed.code[lexed.line_start(line) + column - 1] == '"'
    return (0, 0) if inside else (line, column)


def _tokens(text: str) -> tuple[list[Any], list[Any], list[int]]:
    strings: list[Any] = []
    comments: list[Any] = []
    statements: list[int] = []
    templates: list[Place] = []
    fresh = True
    for found in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = token.tok_name[found.type]
        start, end = (found.start[0], found.start[1] + 1), (found.end[0], found.end[1] + 1)
        if kind in _TEMPLATE_STARTS:
            templates.append(start)
        elif kind in _TEMPLATE_ENDS:
            opened = templates.pop()
            if not templates:
                strings.append((opened, end))
        elif kind == "STRING" and not templates:
            strings.append((start, end))
        elif kind == "COMMENT" and not templates:
            comments.append((start, end))
        if kind not in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER", "ENCODING") and fresh:
            statements.append(start[0])
            fresh = False
        fresh = fresh or kind == "NEWLINE"
    return strings, comments, statements


class _Walker(ast.NodeVisitor):
    def __init__(self, text: str, strings: list[tuple[Place, Place]]) -> None:
        self.lines = text.split("\n")
        self.strings = strings
        self.symbols: list[tuple[str, str, int, int]] = []
        self.docstrings: list[tuple[Place, Place]] = []
        self.imports: list[tuple[Any, ...]] = []
        self.accesses: list[tuple[int, int, str, str, str]] = []
        self.names = {"TYPE_CHECKING"}
        self.defined: set[str] = set()
        self.scope = ""
        self.flags = 0
        self.template = 0

    def place(self, line: int, column: int) -> Place:
        return line, len(self.lines[line - 1].encode()[:column].decode(errors="ignore")) + 1

    def visit_Module(self, node: ast.Module) -> None:
        for found in ast.walk(node):
            if isinstance(found, ast.alias) and found.name == "TYPE_CHECKING" and found.asname:
                self.names.add(found.asname)
        self._docstring(node)
        self.generic_visit(node)

    def _docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if ast.get_docstring(node, clean=False) is None:
            return
        text = node.body[0].value  # type: ignore[attr-defined]
        start, end = self.place(text.lineno, text.col_offset), self.place(text.end_lineno, text.end_col_offset)
        self.docstrings += [span for span in self.strings if start <= span[0] and span[1] <= end]

    def _definition(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.defined.add(node.name)
        scope, flags = self.scope, self.flags
        self.scope = f"{scope}.{node.name}".lstrip(".")
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        if kind == "function":
            self.flags = (flags | ImportFlag.DEFERRED) & ~ImportFlag.GUARDED
        self.symbols.append((self.scope, kind, node.lineno, node.end_lineno or 0))
        self._docstring(node)
        for field, value in ast.iter_fields(node):
            if field != "decorator_list":
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.visit(child)
        self.scope, self.flags = scope, flags

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition  # noqa: N815

    def _under(self, body: list[Any], flag: int) -> None:
        flags = self.flags
        self.flags |= flag
        for statement in body:
            self.visit(statement)
        self.flags = flags

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        value = self._truth(node.test)
        self._under(node.body, ImportFlag.TYPE_CHECKING if value is False else 0)
        self._under(node.orelse, ImportFlag.TYPE_CHECKING if value is True else 0)

    def _truth(self, test: ast.expr) -> bool | None:
        if isinstance(test, ast.Name):
            return False if test.id in self.names else None
        if isinstance(test, ast.Attribute):
            return False if test.attr == "TYPE_CHECKING" else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self._truth(test.operand)
            return None if value is None else not value
        if isinstance(test, ast.BoolOp):
            values = {self._truth(operand) for operand in test.values}
            if isinstance(test.op, ast.And):
                return False if False in values else True if values == {True} else None
            return True if True in values else False if values == {False} else None
        return None

    def visit_Try(self, node: ast.Try) -> None:
        self._under(node.body, ImportFlag.GUARDED if node.handlers else 0)
        self._under([*node.handlers, *node.orelse, *node.finalbody], 0)

    visit_TryStar = visit_Try  # noqa: N815

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        places = [self.place(alias.lineno, alias.col_offset) for alias in node.names]
        names = [alias.name for alias in node.names]
        standing = (self.scope, int(self.flags))
        if isinstance(node, ast.Import):
            rows = zip(places, names, strict=True)
            self.imports += [(*place, 0, name, [], *standing) for place, name in rows]
            return
        module = node.module or ""
        self.imports.append((*self.place(node.lineno, node.col_offset), node.level, module, names, *standing))
        for place, name in zip(places, names, strict=True):
            if module and _is_private(name):
                self.accesses.append((*place, "." * node.level + module, name, self.scope))

    visit_Import = visit_ImportFrom = _import  # noqa: N815

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.template += 1
        self.generic_visit(node)
        self.template -= 1

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        owner = _described(node.value)
        if owner in ("self", "cls", "mcs"):
            self.defined.add(node.attr)
        own = ("self", "cls", "mcs", "type(self)", "type(cls)", "type(mcs)", "super()", "__class__", "")
        if _is_private(node.attr) and owner.removesuffix(".__class__") not in own:
            line, end = node.end_lineno or 0, node.end_col_offset or 0
            place = (0, 0) if self.template else self.place(line, end - len(node.attr.encode()))
            self.accesses.append((*place, owner, node.attr, self.scope))

    def _assigned(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            self.defined.update(part.id for part in parts if isinstance(part, ast.Name))
        self.generic_visit(node)

    visit_Assign = visit_AnnAssign = visit_AugAssign = _assigned  # noqa: N815

    def private_uses(self) -> list[tuple[int, int, str, str, str]]:
        return [access for access in self.accesses if access[3] not in self.defined]


def _is_private(name: str) -> bool:
    return name[:1] == "_" and name not in PUBLIC and name != "_" and not (name[:2] == name[-2:] == "__")


def _described(node: ast.expr) -> str:
    """An owner as the reader writes it."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_described(value)}.{name}".lstrip(".")
        case ast.Call(func=function, args=arguments, keywords=keywords):
            only = arguments[0] if len(arguments) == 1 and not keywords else None
            return f"{_described(function)}({_word(only)})"
        case ast.Subscript(value=value, slice=key):
            return f"{_described(value)}[{_word(key)}]"
        case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
            return '""'
        case ast.Constant():
            return ""
        case ast.List(elts=elements):
            return f"[{_word(elements[0] if len(elements) == 1 else None)}]"
        case ast.ListComp():
            return "[]"
        case ast.Dict() | ast.Set() | ast.DictComp() | ast.SetComp():
            return "{}"
    return "()"


def _word(node: ast.expr | None) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=bool() | None as value):
            return str(value)
        case ast.Constant(value=int(value)):
            return str(value)
    return ""
