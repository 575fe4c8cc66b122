"""The top-level statements of a Python file, of which only those that can matter are parsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from analyzers.python.lexer import Lexed
from analyzers.python.literals import IDENTIFIER
from analyzers.python.parsing import parse_module

_START = re.compile(r"\n(?=[^ \t\n])(?!(?:else|elif|except|finally)\b)")
_IMPORT = re.compile(r"\bimport\b")
_DEFINITION = re.compile(rf"\s*(?:@.*\n\s*)*(?:async[ \t]+)?(?:def|class)[ \t]+({IDENTIFIER}+)")


class Statement(NamedTuple):
    """One statement that starts in the first column, with the decorators before it."""

    start: int
    end: int
    line: int
    defines: str
    """The function or class that it defines; empty where it is something else."""


class Parsed(NamedTuple):
    """A module of nothing but the statements that were asked for, each on its own lines."""

    module: ast.Module
    failed: list[Statement]
    """Those that cannot be parsed."""


def statements(lexed: Lexed) -> list[Statement]:
    """The statements in order; together they cover the file."""
    code = "\n" + lexed.code
    starts = [match.start() for match in _START.finditer(code)]
    starts = [start for index, start in enumerate(starts) if not index or code[starts[index - 1] + 1] != "@"]
    found = []
    for start, end in pairwise([*starts, len(lexed.code)]):
        definition = _DEFINITION.match(lexed.code, start, end)
        found.append(Statement(start, end, lexed.line_at(start), definition[1] if definition else ""))
    return found


def binds_imports(statement: Statement, lexed: Lexed) -> bool:
    """Whether a statement that defines nothing, so that its imports are the module's, holds one."""
    return not statement.defines and _IMPORT.search(lexed.code, statement.start, statement.end) is not None


def parse(text: str, chosen: Sequence[Statement]) -> Parsed:
    """Parse some statements of a text, in order; each keeps its line numbers."""
    module = parse_module(_alone(text, chosen))
    if module is not None:
        return Parsed(module, [])
    parts = [(statement, parse_module(_alone(text, [statement]))) for statement in chosen]
    body = [node for _, part in parts if part is not None for node in part.body]
    return Parsed(ast.Module(body, []), [statement for statement, part in parts if part is None])


def _alone(text: str, chosen: Sequence[Statement]) -> str:
    """The text of some statements, with empty lines for the others."""
    pieces: list[str] = []
    line = 1
    for statement in chosen:
        piece = text[statement.start : statement.end]
        pieces += ("\n" * (statement.line - line), piece)
        line = statement.line + piece.count("\n")
    return "".join(pieces)
