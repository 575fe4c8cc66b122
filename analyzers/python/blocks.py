"""The blocks of a Python file that decide what an import in it means: definitions, `try`, `if TYPE_CHECKING`."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

from analyzers.python.facts import ImportFlag, Symbol
from analyzers.python.lexer import Lexed, Span, header_colon
from analyzers.python.literals import IDENTIFIER, normal

_HEADER = re.compile(
    rf"\n([ \t]*+)(?=[acdeit])(?:(?:async[ \t]+)?(def|class)[ \t]+({IDENTIFIER}+)"
    rf"|(try)[ \t]*:|(?:el)?(if)(?!{IDENTIFIER}))"
)
_ALTERNATIVE = re.compile(rf"\n([ \t]*+)(?:elif|else)(?!{IDENTIFIER})")
_HANDLER = re.compile(rf"\n([ \t]*+)except(?!{IDENTIFIER})")
_ALIAS = re.compile(rf"(?<!{IDENTIFIER})TYPE_CHECKING[ \t]+as[ \t]+({IDENTIFIER}+)")


class Blocks:
    """The definitions of one file in order, and for any offset what encloses it."""

    def __init__(self, lexed: Lexed) -> None:
        self.symbols: list[Symbol] = []
        self._lexed = lexed
        self._padded = "\n" + lexed.code
        """A header pattern that starts with a newline is many times as fast as one with an anchor. A match in this
        text starts at the offset that its line has in the code."""
        self._spans: list[Span] = []
        self._starts: list[int] = []
        self._parents: list[int] = []
        self._deferred: list[bool] = []
        self._guarded: list[Span] = []
        self._dead: list[Span] = []
        self._read()

    def symbol_at(self, offset: int) -> int:
        """Index of the innermost definition around an offset, from its keyword to its last statement; -1 at
        module level."""
        index = bisect_right(self._starts, offset) - 1
        while index >= 0 and self._spans[index][1] <= offset:
            index = self._parents[index]
        return index

    def flags_at(self, offset: int) -> int:
        """The `ImportFlag` values of an import at an offset that follow from where it stands."""
        flags = 0
        symbol = self.symbol_at(offset)
        if symbol >= 0 and self._deferred[symbol]:
            flags |= ImportFlag.DEFERRED.value
        if any(start <= offset < end for start, end in self._dead):
            flags |= ImportFlag.TYPE_CHECKING.value
        function = self._function_start(symbol)
        if any(function <= start <= offset < end for start, end in self._guarded):
            flags |= ImportFlag.GUARDED.value
        return flags

    def _function_start(self, symbol: int) -> int:
        """Where the innermost function around a symbol starts: a `try` outside of it does not guard its calls."""
        while symbol >= 0 and self.symbols[symbol].kind != "function":
            symbol = self._parents[symbol]
        return self._starts[symbol] if symbol >= 0 else 0

    def _read(self) -> None:
        code = self._lexed.code
        names: set[str] = set()
        if "TYPE_CHECKING" in code:
            names = {"TYPE_CHECKING", *_ALIAS.findall(code)}
        parent = -1
        for header in _HEADER.finditer(self._padded):
            indent, kind, guard = header.group(1, 2, 4)
            if kind:
                while parent >= 0 and self._spans[parent][1] <= header.start():
                    parent = self._parents[parent]
                self._define(header, parent)
                parent = len(self.symbols) - 1
            elif guard:
                end = self._block_end(header)
                if self._continues(_HANDLER, end, len(indent)):
                    self._guarded.append((header.start(), end))
            elif names:
                self._dead += self._dead_branches(header, names)

    def _define(self, header: re.Match[str], parent: int) -> None:
        indent, kind, name = header.group(1, 2, 3)
        start = header.start() + len(indent)
        end = self._block_end(header)
        end = start + len(self._lexed.code[start:end].rstrip(" \t\f\n"))
        name = normal(name)
        function = kind == "def"
        self.symbols.append(
            Symbol(
                f"{self.symbols[parent].name}.{name}" if parent >= 0 else name,
                "function" if function else "class",
                self._lexed.position(start)[0],
                self._lexed.position(end - 1)[0],
            )
        )
        self._spans.append((start, end))
        self._starts.append(start)
        self._parents.append(parent)
        self._deferred.append(function or (parent >= 0 and self._deferred[parent]))

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
