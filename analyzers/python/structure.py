"""Everything that one Python file says on its own."""

from __future__ import annotations

from analyzers.python.blocks import Blocks
from analyzers.python.dynamic import dynamic_imports
from analyzers.python.facts import PythonFacts
from analyzers.python.imports import import_statements, static_imports
from analyzers.python.lexer import lex
from analyzers.python.private import private_accesses
from analyzers.source import Source


def read_python(source: Source) -> PythonFacts:
    """Read one file. A file with syntax errors gives what can be made out; nothing is raised."""
    lexed = lex(source.text)
    blocks = Blocks(lexed)
    statements = import_statements(lexed.code)
    imports = [*static_imports(lexed, blocks, statements), *dynamic_imports(lexed, blocks, statements)]
    imports.sort(key=lambda item: (item.line, item.column))
    private = private_accesses(lexed, blocks, statements)
    return PythonFacts.of(_line_count(source.text), blocks.symbols, imports, private)


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")
