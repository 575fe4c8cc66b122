"""One walk through a syntax tree that says what each scope binds, defines and speaks of."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from analyzers.configuration.bindings import Binding, bindings

_DEFINES = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))
_BINDS = frozenset((ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem))
_IMPORTS = frozenset((ast.Import, ast.ImportFrom))
_PLAIN = frozenset(
    (
        *("id", "attr", "arg", "name", "asname", "module", "level", "names", "kind", "type_comment", "type_ignores"),
        *("ctx", "op", "ops", "conversion", "simple", "is_async", "rest", "kwd_attrs"),
    )
)
"""Fields that hold no node, or none that holds others."""


class _Held(dict[type[ast.AST], tuple[str, ...]]):
    """For each kind of node, its fields that hold others; each looked up once."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _PLAIN)
        return self[kind]


_HELD = _Held()


@dataclass
class Body:
    """What belongs to one scope, and not to one within it."""

    nodes: list[ast.AST] = field(default_factory=list)
    """The nodes that bind names or open scopes, in order of the source."""
    words: set[str] = field(default_factory=set)
    """Its names and attributes."""


@dataclass
class Survey:
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
            elif kind in _DEFINES:
                body.nodes.append(node)
                waiting.append(node)
                continue
            elif kind in _BINDS:
                body.nodes.append(node)
            elif kind in _IMPORTS:
                found.imports.update(bindings(node))
                continue
            nodes += children(node)[::-1]
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in order, without constants and operators; faster than `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in _HELD[type(node)]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if item is not None and type(item) is not ast.Constant]
        elif value is not None and type(value) is not ast.Constant:
            found.append(value)
    return found
