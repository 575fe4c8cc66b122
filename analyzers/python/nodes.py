"""What every reader of syntax trees asks of their nodes and of dotted names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_PLAIN = frozenset(
    (
        *("id", "attr", "arg", "name", "asname", "module", "level", "names", "kind", "type_comment", "type_ignores"),
        *("ctx", "op", "ops", "conversion", "simple", "is_async", "rest", "kwd_attrs"),
    )
)
"""Fields that hold no node, or none that holds others."""


_LEAVES = (ast.Constant, ast.MatchSingleton)
"""Nodes whose `value` is no node."""


class _Held(dict[type[ast.AST], tuple[str, ...]]):
    """For each kind of node, its fields that hold others; each looked up once."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = () if kind in _LEAVES else tuple(name for name in kind._fields if name not in _PLAIN)
        return self[kind]


_HELD = _Held()


def dotted(node: ast.expr) -> str:
    """`a.b.c` of names and attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def last_part(name: str) -> str:
    """`c` of `a.b.c`."""
    return name.rpartition(".")[2]


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in order, without operators, contexts and what an import names; several times as fast
    as `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in _HELD[type(node)]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if item is not None] if None in value else value
        elif value is not None:
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all that `children` finds below it, level by level."""
    found = [node]
    for inner in found:
        found += children(inner)
    return found


def in_blocks(node: ast.AST) -> list[ast.AST]:
    """What stands in the blocks of a statement: other statements, handlers and cases."""
    return [child for block in _BLOCKS for child in getattr(node, block, ())]


def module_statements(module: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run with the module, in order, also those under `if`, `try`, `with` and the like."""
    waiting: list[ast.AST] = [*reversed(module.body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, _DEFINITIONS):
            waiting += reversed(in_blocks(node))


def every_statement(module: ast.Module) -> Iterator[ast.stmt]:
    """Every statement, also those in functions and classes, in no particular order."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        waiting += in_blocks(node)
