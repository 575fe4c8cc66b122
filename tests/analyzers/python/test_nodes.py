"""Walking through syntax trees, held against the standard library's own walk."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import typing
from types import ModuleType

import pytest

from analyzers.python.nodes import children, walk

EVERY_PATTERN = """
match point:
    case True | None | 1 | -1.5 | "a" | Color.RED:
        pass
    case [first, *_, last] | {"a": 1, **rest} | Point(x=0) | Point(0, y=str() as name):
        del first
    case _ if (n := len(point)) > 1:
        pass
"""
_LEFT_OUT = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.alias)


@pytest.mark.parametrize("source", [argparse, ast, dataclasses, typing, EVERY_PATTERN], ids=str)
def test_children_are_those_of_the_standard_library_without_what_holds_nothing(source: ModuleType | str) -> None:
    text = source if isinstance(source, str) else inspect.getsource(source)
    for node in walk(ast.parse(text)):
        expected = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _LEFT_OUT)]
        assert children(node) == expected
