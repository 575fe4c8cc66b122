"""One walk through a syntax tree that says what each scope binds, defines and speaks of."""

from __future__ import annotations

import ast

from msgspec import Struct, field

from analyzers.python.bindings import Binding, bindings
from analyzers.python.nodes import children

_DEFINES = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))
_BINDS = frozenset((ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem))
_IMPORTS = frozenset((ast.Import, ast.ImportFrom))


class Body(Struct):
    """What belongs to one scope, and not to one within it."""

    nodes: list[ast.AST] = field(default_factory=list)
    """The nodes that bind names or open scopes, in order of the source."""
    words: set[str] = field(default_factory=set)
    """Its names and attributes."""


class Survey(Struct):
    bodies: dict[ast.AST, Body] = field(default_factory=dict)
    """Of the module, of every function and class."""
    imports: dict[str, Binding] = field(default_factory=dict)
    """Every name that an import binds, in whatever scope."""


def survey(module: ast.Module) -> Survey:
    """Walk through a file once."""
    found = Survey()
    waiting: list[ast.AST] = [module]
    while waiting:
        scope = waiting.pop()
        body = found.bodies[scope] = Body()
        nodes = children(scope)[::-1]
        while nodes:
            node = nodes.pop()
            kind = type(node)
            if isinstance(node, ast.Name):
                body.words.add(node.id)
                continue
            if isinstance(node, ast.Attribute):
                body.words.add(node.attr)
                nodes.append(node.value)
                continue
            if kind is ast.Constant:
                continue
            if kind in _DEFINES:
                body.nodes.append(node)
                waiting.append(node)
                continue
            if kind in _BINDS:
                body.nodes.append(node)
            elif kind in _IMPORTS:
                found.imports.update(bindings(node))
                continue
            nodes += children(node)[::-1]
    return found
