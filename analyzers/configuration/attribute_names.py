"""The names that a file gets at as attributes of anything: what may be a read of a field that no type gives away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from analyzers.python.imports import bound_names, import_statements
from analyzers.python.lexer import lex
from analyzers.source import Source

_VERSION = 1
"""Goes up whenever the same text may give other facts."""

_NAME = r"\.[ \t]*+([A-Za-z_]\w*+)(?![ \t]*+=(?!=))"
_ATTRIBUTE = re.compile(_NAME)
"""A name behind a dot that is not assigned."""
_TEMPLATE = re.compile(r"[rR]?[fFtT]")
_IDENTIFIER_STRING = re.compile(r"[\"']([A-Za-z_]\w*+)[\"']")
_BY_NAME = ("getattr", "attrgetter", "__dict__", "vars(")
"""Where one of these occurs, a string may be the name of an attribute."""


@dataclass(frozen=True)
class AttributeNamesExtractor:
    """Finds the names of attributes; it depends on no setting."""

    kind: str = f"attribute-names@{_VERSION}"

    def extract(self, source: Source) -> str:
        """The names in one text, separated by spaces. Attributes of what is imported as a module do not count."""
        lexed = lex(source.text)
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
        if any(way in source.text for way in _BY_NAME):
            names.update(_strings(lexed.text))
        return " ".join(sorted(names))


@lru_cache(maxsize=512)
def _attribute_of(module: str) -> re.Pattern[str]:
    """An attribute of a name. The pattern starts with a literal, which is fast to look for."""
    return re.compile(rf"{module}(?<![\w.]{module})[ \t]*+{_NAME}")


def _strings(text: str) -> Iterator[str]:
    for match in _IDENTIFIER_STRING.finditer(text):
        yield match[1]
