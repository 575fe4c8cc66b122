"""The import statements of a Python file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from analyzers.python.blocks import Blocks
from analyzers.python.facts import Import
from analyzers.python.lexer import Lexed
from analyzers.python.literals import IDENTIFIER, normal

_KEYWORD = re.compile(rf"import(?<!{IDENTIFIER}import)(?!{IDENTIFIER})")
_STATEMENT_END = re.compile(r"[;\n]|\Z")
_NAME = re.compile(rf"({IDENTIFIER}+(?:[ \t]*\.[ \t]*{IDENTIFIER}+)*+|\*)(?:[ \t]+as[ \t]+({IDENTIFIER}+))?")


class Statement(NamedTuple):
    """One import statement, by offsets."""

    start: int
    """Of its first keyword."""
    names: int
    """Where its list of names starts."""
    end: int
    origin: str
    """What is imported from, without blanks (`..x`); empty for `import x`."""


@lru_cache(maxsize=1)
def import_statements(code: str) -> tuple[Statement, ...]:
    """Every import statement in order. The last answer is kept, as that of `lex` is."""
    return tuple(_statements_in(code))


def _statements_in(code: str) -> Iterator[Statement]:
    """`import` is a keyword: it stands nowhere else."""
    done = 0
    for keyword in _KEYWORD.finditer(code):
        at = keyword.start()
        if at < done:
            continue
        start = max(code.rfind("\n", done, at) + 1, done)
        start = max(code.rfind(";", start, at) + 1, code.rfind(":", start, at) + 1, start)
        head = code[start:at].lstrip()
        end = _STATEMENT_END.search(code, keyword.end())
        done = end.start() if end else len(code)
        if not head or head.startswith("from"):
            origin = normal("".join(head.split())[len("from") :])
            yield Statement(at - len(head), keyword.end(), done, origin)


def imported_names(code: str, statement: Statement) -> Iterator[tuple[str, int]]:
    """Each name that a statement lists, without blanks, and its offset."""
    for match in _NAME.finditer(code, statement.names, statement.end):
        yield normal("".join(match[1].split())), match.start()


def bound_names(code: str, statement: Statement) -> Iterator[tuple[str, str]]:
    """Each name that a statement binds, and the module that it is or is taken from: `a` and "a" of `import a.b`."""
    for match in _NAME.finditer(code, statement.names, statement.end):
        name, alias = normal("".join(match[1].split())), normal(match[2] or "")
        if statement.origin:
            yield alias or name, statement.origin
        else:
            top = name.partition(".")[0]
            yield alias or top, name if alias else top


def static_imports(lexed: Lexed, blocks: Blocks, statements: Iterable[Statement]) -> Iterator[Import]:
    """What the statements import, in order."""
    for statement in statements:
        names = imported_names(lexed.code, statement)
        symbol, flags = blocks.around(statement.names)
        if statement.origin:
            module = statement.origin.lstrip(".")
            level = len(statement.origin) - len(module)
            place = lexed.position(statement.start)
            yield Import(module, [name for name, _ in names], level, *place, symbol, flags)
        else:
            for module, at in names:
                yield Import(module, [], 0, *lexed.position(at), symbol, flags)
