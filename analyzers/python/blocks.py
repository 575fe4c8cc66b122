"""The blocks of a Python file that decide what an import in it means: definitions, `try`, `if TYPE_CHECKING`."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from sys import maxsize
from typing import NamedTuple

from analyzers.python.facts import ImportFlag, Symbol
from analyzers.python.lexer import Lexed, Span, header_colon
from analyzers.python.literals import IDENTIFIER, normal

_BLOCK = rf"(?:async[ \t]+)?(def|class)[ \t]+({IDENTIFIER}+)|(try)[ \t]*:"
_HEADER = re.compile(rf"\n([ \t]*+)(?=[acdt])(?:{_BLOCK})")
_HEADER_OR_IF = re.compile(rf"\n([ \t]*+)(?=[acdeit])(?:{_BLOCK}|(?:el)?if(?!{IDENTIFIER}))")
_ALTERNATIVE = re.compile(rf"\n([ \t]*+)(?:elif|else)(?!{IDENTIFIER})")
_HANDLER = re.compile(rf"\n([ \t]*+)except(?!{IDENTIFIER})")
_ALIAS = re.compile(rf"TYPE_CHECKING(?<!{IDENTIFIER}TYPE_CHECKING)[ \t]+as[ \t]+({IDENTIFIER}+)")


class _Nest:
    """Spans that lie side by side or one within another."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans)
        self.parents: list[int] = []
        """For each span the index of the one around it; -1 where there is none."""
        parent = -1
        for index, (start, _) in enumerate(self.spans):
            parent = self._enclosing(parent, start)
            self.parents.append(parent)
            parent = index

    def innermost(self, offset: int) -> int:
        """Index of the smallest span around an offset; -1 where there is none."""
        return self._enclosing(bisect_right(self.spans, (offset, maxsize)) - 1, offset)

    def _enclosing(self, index: int, offset: int) -> int:
        while index >= 0 and self.spans[index][1] <= offset:
            index = self.parents[index]
        return index


class _Definition(NamedTuple):
    start: int
    end: int
    kind: str
    name: str


class Blocks:
    """The definitions of one file in order, and for any offset what encloses it."""

    def __init__(self, lexed: Lexed) -> None:
        self._lexed = lexed
        self._padded = "\n" + lexed.code
        """A header pattern that starts with a newline is many times as fast as one with an anchor. A match in this
        text starts at the offset that its line has in the code."""
        definitions: list[_Definition] = []
        guarded: list[Span] = []
        dead: list[Span] = []
        self._read(definitions, guarded, dead)
        self._guarded = _Nest(guarded)
        self._dead = _Nest(dead)
        self._nest = _Nest(definition[:2] for definition in definitions)
        self._functions: list[int] = []
        """For each definition where the innermost function starts that it is or lies in; -1 where there is none."""
        self.symbols: list[Symbol] = []
        for definition, parent in zip(definitions, self._nest.parents, strict=True):
            self._add(definition, parent)

    def symbol_at(self, offset: int) -> int:
        """Index of the innermost definition around an offset, from its keyword to its last statement; -1 at
        module level."""
        return self._nest.innermost(offset)

    def around(self, offset: int) -> tuple[int, int]:
        """What `symbol_at` says of an import at an offset, and the `ImportFlag` values that follow from where it
        stands."""
        flags = 0
        symbol = self.symbol_at(offset)
        function = self._functions[symbol] if symbol >= 0 else -1
        if function >= 0:
            flags |= ImportFlag.DEFERRED.value
        if self._dead.innermost(offset) >= 0:
            flags |= ImportFlag.TYPE_CHECKING.value
        guard = self._guarded.innermost(offset)
        # A function that is defined in a `try` is not called in it.
        if guard >= 0 and self._guarded.spans[guard][0] > function:
            flags |= ImportFlag.GUARDED.value
        return symbol, flags

    def _read(self, definitions: list[_Definition], guarded: list[Span], dead: list[Span]) -> None:
        code = self._lexed.code
        names: set[str] = set()
        pattern = _HEADER
        if "TYPE_CHECKING" in code:
            names = {"TYPE_CHECKING", *_ALIAS.findall(code)}
            pattern = _HEADER_OR_IF
        for header in pattern.finditer(self._padded):
            indent, kind, name, guard = header.group(1, 2, 3, 4)
            if kind:
                start = header.start() + len(indent)
                block = code[start : self._block_end(header)]
                definitions.append(_Definition(start, start + len(block.rstrip(" \t\n")), kind, normal(name)))
            elif guard:
                end = self._block_end(header)
                if self._continues(_HANDLER, end, len(indent)):
                    guarded.append((header.start(), end))
            else:
                dead += self._dead_branches(header, names)

    def _add(self, definition: _Definition, parent: int) -> None:
        function = definition.kind == "def"
        self.symbols.append(
            Symbol(
                f"{self.symbols[parent].name}.{definition.name}" if parent >= 0 else definition.name,
                "function" if function else "class",
                self._lexed.line_at(definition.start),
                self._lexed.line_at(definition.end - 1),
            )
        )
        around = self._functions[parent] if parent >= 0 else -1
        self._functions.append(definition.start if function else around)

    def _block_end(self, header: re.Match[str]) -> int:
        """Offset at which the next line starts that is not deeper than the header."""
        found = _dedent(len(header[1])).search(self._padded, header.end())
        return found.start() if found else len(self._lexed.code)

    def _continues(self, clause: re.Pattern[str], end: int, indent: int) -> re.Match[str] | None:
        """The clause that follows on a block which ends at `end`."""
        found = clause.match(self._padded, end)
        return found if found and len(found[1]) == indent else None

    def _dead_branches(self, header: re.Match[str], names: set[str]) -> Iterator[Span]:
        """The branches that never run, given that TYPE_CHECKING is false, of the `if` or `elif` at `header`."""
        start = header.end() - 1
        line = self._lexed.code[start : self._padded.find("\n", header.end()) - 1]
        if not any(name in line for name in names):
            return
        test = self._lexed.text[start : header_colon(self._lexed.code, start)]
        value = _truth(test, names)
        end = self._block_end(header)
        if value is False:
            yield header.start(), end
        while value is True and (clause := self._continues(_ALTERNATIVE, end, len(header[1]))):
            end = self._block_end(clause)
            yield clause.start(), end


@cache
def _dedent(indent: int) -> re.Pattern[str]:
    """The start of a line that holds something and has at most `indent` blanks before it."""
    return re.compile(rf"\n[ \t]{{0,{indent}}}+[^ \t\n]")


def _truth(test: str, names: set[str]) -> bool | None:
    """What an expression is at run time, when TYPE_CHECKING is false; None where that is not known."""
    if test.strip() in names:
        return False
    try:
        return _evaluate(ast.parse(f"({test}\n)", mode="eval").body, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _evaluate(test: ast.expr, names: set[str]) -> bool | None:
    match test:
        case ast.Name(id=name) if name in names:
            return False
        case ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = _evaluate(operand, names)
            return None if value is None else not value
        case ast.BoolOp(op=operator, values=operands):
            values = [_evaluate(operand, names) for operand in operands]
            deciding = isinstance(operator, ast.Or)
            if deciding in values:
                return deciding
            return None if None in values else not deciding
    return None
