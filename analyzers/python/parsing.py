"""Syntax trees of Python files, also of those in a syntax newer than the Python that runs this."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from analyzers.python.lexer import Lexed, Span, closing_bracket, lex, open_brackets
from analyzers.python.literals import IDENTIFIER

_TEMPLATE = re.compile(r"(?:[rR]?[fFtT]|[fFtT][rR])[\"']")
_TYPE_ALIAS = re.compile(rf"\n[ \t]*+(type[ \t]+)({IDENTIFIER}+)[ \t]*(?=[\[=])")
_GENERIC = re.compile(rf"\n[ \t]*+(?:async[ \t]+def|def|class|type)[ \t]+{IDENTIFIER}+[ \t]*(?=\[)")
_BARE_EXCEPT = re.compile(r"\n[ \t]*+except[ \t*]+[^\n,:()]+(,[^\n:()]*):")
_MOST_BRACKETS = 40
"""One within another; CPython's tokenizer takes 200."""
_MOST_LEVELS = 2_000
"""Of other nesting; CPython 3.11 follows some 2,980. Each level takes a token of a logical line, or an `elif`."""
_DEEP_BLOCK = re.compile(r"\n[ \t]{90,}+[^ \t\n]")
"""CPython's tokenizer takes 100 levels of indentation."""
_LONG_LINE = re.compile(rf"\n([^\n]{{{_MOST_LEVELS + 1},}}+)")
_WORD_OR_BLANKS = re.compile(r"(?<!\w)[^\W\d]\w*|[ \t]+|\"+")


@lru_cache(maxsize=1)
def parse_module(text: str) -> ast.Module | None:
    """The tree of a file; None where it does not parse. The last answer is kept, as that of `lex` is.

    What only a newer Python takes is put into older words of the same length: type parameters are left out, a `type`
    statement becomes an assignment, a template string that is too new becomes a plain one, and of exceptions without
    parentheses the first is kept.
    """
    tree = parse(text)
    if isinstance(tree, ast.Module):
        return tree
    tree = parse(_in_older_words(text))
    return tree if isinstance(tree, ast.Module) else None


def surely_parses(lexed: Lexed) -> bool:
    """Whether `parse_module` gives a tree for a text in which the syntax checker finds no error; where that is False,
    only trying tells. CPython refuses more than the checker: zero bytes, letters that its Unicode lacks, numbers of
    thousands of digits, and deep nesting.
    """
    code = lexed.code
    if not code.isascii() or "\0" in lexed.text or _DEEP_BLOCK.search(code) or code.count("elif") > _MOST_LEVELS:
        return False
    long = (_WORD_OR_BLANKS.sub("_", line) for line in _LONG_LINE.findall("\n" + code))
    return max(map(len, long), default=0) <= _MOST_LEVELS and not open_brackets(code, _MOST_BRACKETS).strip()


def parse_expression(text: str) -> ast.expr | None:
    """The tree of an expression, such as an annotation in a string; None where it is none."""
    tree = parse(text.strip(), "eval")
    return tree.body if isinstance(tree, ast.Expression) else None


class Places:
    """Where the nodes of a text stand: columns 1-based and in characters, while `ast` counts bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self._lines = [] if text.isascii() else text.split("\n")
        self._bytes: dict[int, list[int]] = {}
        """For a line that is not all ASCII, how many bytes stand before each of its characters."""

    def of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Line and column of a node."""
        line = node.lineno
        if not self._lines or self._lines[line - 1].isascii():
            return line, node.col_offset + 1
        if line not in self._bytes:
            widths = (len(character.encode()) for character in self._lines[line - 1])
            self._bytes[line] = list(accumulate(widths, initial=0))
        return line, bisect_left(self._bytes[line], node.col_offset) + 1


def parse(text: str, mode: str = "exec") -> ast.AST | None:
    """What `ast` makes of a text, without its warnings; None where it does not parse, however that shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text, mode=mode)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _in_older_words(text: str) -> str:
    lexed = lex(text)
    pieces: list[str] = []
    done = 0
    for (start, end), replacement in sorted(_replacements(lexed)):
        if start >= done:
            pieces += (text[done:start], replacement)
            done = end
    return "".join((*pieces, text[done:]))


def _replacements(lexed: Lexed) -> Iterator[tuple[Span, str]]:
    """Spans of what is too new, and what to write there: as many bytes of UTF-8, so that `ast` counts the same."""
    text = lexed.text
    for start, end in lexed.strings:
        if _TEMPLATE.match(text, start) and not isinstance(parse(text[start:end], "eval"), ast.Expression):
            yield (start, end), _plain_string(text[start:end])
    padded = "\n" + lexed.code
    for match in _TYPE_ALIAS.finditer(padded):
        start, end = match.start(1) - 1, match.end(2) - 1
        yield (start, end), match[2] + " " * len(match[1])
    for match in _GENERIC.finditer(padded):
        start = match.end() - 1
        end = closing_bracket(lexed.code, start, len(lexed.code)) or len(lexed.code)
        yield (start, end), _blank(text[start:end])
    for match in _BARE_EXCEPT.finditer(padded):
        yield (match.start(1) - 1, match.end(1) - 1), " " * len(match[1])


def _plain_string(literal: str) -> str:
    return '""' + _blank(literal[2:])


def _blank(text: str) -> str:
    """As many blanks on as many lines, which are continued so that they say nothing."""
    lines = [" " * len(line.encode("utf-8", "surrogatepass")) for line in text.split("\n")]
    return "\n".join([f"{line[:-1]}\\" if line else "" for line in lines[:-1]] + lines[-1:])
