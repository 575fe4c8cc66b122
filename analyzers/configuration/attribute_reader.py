"""From the text of a file to the names of the attributes that it gets at."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from analyzers.python.imports import bound_names, import_statements
from analyzers.python.lexer import lex

_NAME = r"\.[ \t]*+([A-Za-z_]\w*+)(?![ \t]*+=(?!=))"
_ATTRIBUTE = re.compile(_NAME)
"""A name behind a dot that is not assigned."""
_TEMPLATE = re.compile(r"[rR]?[fFtT]")
_IDENTIFIER_STRING = re.compile(r"[\"']([A-Za-z_]\w*+)[\"']")
_BY_NAME = ("getattr", "attrgetter", "__dict__", "vars(")
"""Where one of these occurs, a string may be the name of an attribute."""


def attribute_names(text: str) -> set[str]:
    """The names in one text. Attributes of what is imported as a module do not count."""
    lexed = lex(text)
    modules: set[str] = set()
    pieces: list[str] = []
    done = 0
    for statement in import_statements(lexed.code):
        if not statement.origin:
            modules.update(name for name, _ in bound_names(lexed.code, statement))
        pieces.append(lexed.code[done : statement.start])
        done = statement.end
    pieces.append(lexed.code[done:])
    pieces += (lexed.text[start:end] for start, end in lexed.strings if _TEMPLATE.match(lexed.text, start))
    code = " ".join(pieces)
    times = Counter(_ATTRIBUTE.findall(code))
    for module in modules:
        times.subtract(_attribute_of(module).findall(code))
    names = {name for name, count in times.items() if count > 0}
    if any(way in text for way in _BY_NAME):
        names.update(_IDENTIFIER_STRING.findall(lexed.text))
    return names


@lru_cache(maxsize=512)
def _attribute_of(module: str) -> re.Pattern[str]:
    """An attribute of a name. The pattern starts with a literal, which is fast to look for."""
    return re.compile(rf"{module}(?<![\w.]{module})[ \t]*+{_NAME}")
