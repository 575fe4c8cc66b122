"""The import statements of a Python file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from analyzers.python.blocks import Blocks
from analyzers.python.facts import Import
from analyzers.python.lexer import Lexed
from analyzers.python.literals import IDENTIFIER, normal

_KEYWORD = re.compile(rf"import(?<!{IDENTIFIER}import)(?!{IDENTIFIER})")
_STATEMENT_END = re.compile(r"[;\n]|\Z")
_NAME = re.compile(rf"({IDENTIFIER}+(?:[ \t]*\.[ \t]*{IDENTIFIER}+)*+|\*)(?:[ \t]+as[ \t]+{IDENTIFIER}+)?")


class Statement(NamedTuple):
    """One import statement, by offsets."""

    start: int
    names: int
    """Where its list of names starts."""
    end: int
    origin: str
    """What is imported from, with the keyword and without blanks (`from..x`); empty for `import x`."""


def import_statements(code: str) -> Iterator[Statement]:
    """Every import statement in order. `import` is a keyword: it stands nowhere else."""
    done = 0
    for keyword in _KEYWORD.finditer(code):
        at = keyword.start()
        if at < done:
            continue
        start = max(code.rfind("\n", done, at) + 1, done)
        start = max(code.rfind(";", start, at) + 1, code.rfind(":", start, at) + 1, start)
        origin = "".join(code[start:at].split())
        end = _STATEMENT_END.search(code, keyword.end())
        done = end.start() if end else len(code)
        if not origin or origin.startswith("from"):
            yield Statement(start, keyword.end(), done, origin)


def static_imports(lexed: Lexed, blocks: Blocks, statements: Iterable[Statement]) -> Iterator[Import]:
    """One record for each name of each statement, in order, at the place of the name."""
    for statement in statements:
        dotted = statement.origin[len("from") :]
        module = dotted.lstrip(".")
        level = len(dotted) - len(module)
        symbol, flags = blocks.symbol_at(statement.names), blocks.flags_at(statement.names)
        for match in _NAME.finditer(lexed.code, statement.names, statement.end):
            name = normal("".join(match[1].split()))
            line, column = lexed.position(match.start())
            if statement.origin:
                yield Import(normal(module), name, level, line, column, symbol, flags)
            else:
                yield Import(name, "", 0, line, column, symbol, flags)
