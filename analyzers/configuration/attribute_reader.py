"""From the text of a file to the names of the attributes that it gets at."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from analyzers.configuration.attribute_names import ANYTHING, AttributeNames
from analyzers.configuration.spreading import spread_words
from analyzers.python.imports import bound_names, import_statements
from analyzers.python.lexer import Lexed, lex
from analyzers.python.literals import normal
from analyzers.python.parsing import surely_parses

_NAME = r"\.[ \t]*+([A-Za-z_]\w*+)(?![ \t]*+=(?!=))"
_ATTRIBUTE = re.compile(_NAME)
"""A name behind a dot that is not assigned."""
_ANY_ATTRIBUTE = re.compile(r"\.[ \t]*+([^\W\d]\w*+)")
_TEMPLATE = re.compile(r"[rR]?[fFtT]")
_CASE = re.compile(r"^[ \t]*+case\b[^\n]*?\w[ \t]*+\([ \t]*+[^\s)]", re.MULTILINE)
"""A class pattern, which reads the attributes that it names, and else those that come first."""
_KEYWORD = re.compile(r"([^\W\d]\w*+)[ \t]*+=(?!=)")
_PLACEHOLDER = re.compile(r"\{[^{}\n]*?\.([A-Za-z_]\w*+)")
"""`"{0.name}"` as `str.format` reads it."""
_SPREAD = re.compile(r"[(,]\s*+\*\*")
_IDENTIFIER_STRING = re.compile(r"[\"']([A-Za-z_]\w*+)[\"']")
_BY_NAME = ("getattr", "attrgetter", "__dict__", "vars(")
"""Where one of these occurs, a string may be the name of an attribute."""


def attribute_names(text: str) -> AttributeNames:
    """What one text says of attributes."""
    lexed = lex(text)
    modules, code = _without_imports(lexed)
    templates = [lexed.text[start:end] for start, end in lexed.strings if _TEMPLATE.match(lexed.text, start)]
    # `{x.name=}` shows what it reads.
    unsure = {name for template in templates for name in _ANY_ATTRIBUTE.findall(template)}
    code = " ".join((code, *templates))
    times = Counter(_ATTRIBUTE.findall(code))
    unsure.update(times)
    of_modules = Counter(name for module in modules for name in _attribute_of(module).findall(code))
    names = {name for name, count in times.items() if count > of_modules[name]}
    if not code.isascii():
        unsure.update(map(normal, _ANY_ATTRIBUTE.findall(code)))
    if ".format(" in code:
        names.update(_PLACEHOLDER.findall(text))
    matches = "case " in code and _CASE.search(code) is not None
    if matches:
        unsure.update(_KEYWORD.findall(code))
    if any(way in text for way in _BY_NAME):
        names.update(_IDENTIFIER_STRING.findall(text))
    elif "hasattr" in text:
        unsure.update(_IDENTIFIER_STRING.findall(text))
    hidden = matches or any(map(_SPREAD.search, templates))
    return AttributeNames(
        names=" ".join(sorted(names)),
        unsure=" ".join(sorted(unsure - names)),
        spreads=" ".join(sorted({ANYTHING} if hidden else spread_words(lexed.code))),
        parses=surely_parses(lexed),
    )


def _without_imports(lexed: Lexed) -> tuple[set[str], str]:
    """The names that stand for modules, and the code without its import statements."""
    modules: set[str] = set()
    pieces: list[str] = []
    done = 0
    for statement in import_statements(lexed.code):
        if not statement.origin:
            modules.update(name for name, _ in bound_names(lexed.code, statement))
        pieces.append(lexed.code[done : statement.start])
        done = statement.end
    return modules, " ".join((*pieces, lexed.code[done:]))


@lru_cache(maxsize=1024)
def _attribute_of(name: str) -> re.Pattern[str]:
    """An attribute of a name. A tree imports few modules, and those again and again."""
    return re.compile(rf"{name}(?<![\w.]{name})[ \t]*+{_NAME}")
