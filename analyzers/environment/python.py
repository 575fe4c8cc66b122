"""Uses of the environment in one Python file, of which only the statements that can matter are parsed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from analyzers.environment.keys import KeyReader, rendered
from analyzers.environment.mentions import NOTHING, Vocabulary, mentions
from analyzers.environment.python_uses import read_module
from analyzers.environment.uses import ANY, FileUses, Use
from analyzers.environment.wrappers import Site
from analyzers.python.lexer import Lexed, lex
from analyzers.python.parsing import Places
from analyzers.python.statements import Statement, binds_imports, parse, statements
from analyzers.python.words import any_within, offsets

_WORDS = ("environ", "environb", "getenv", "getenvb", "putenv", "unsetenv", "setenv", "delenv", "expandvars")
_BINDS_OS = re.compile(r"(?:class|def)[ \t]+os\b|os\b[ \t]*[:=]|from\b")
_REGISTRY = re.compile(r"\.environ[ \t]+import\b")
"""`from app.environ import ...` is where a registry comes from, and says nothing of the environment by itself."""
_ROUNDS = 8


def read_python(text: str, wrappers: Sequence[str] = (), vocabulary: Vocabulary = NOTHING) -> FileUses:
    """What a Python file does with the environment.

    Args:
        text: the file.
        wrappers: functions, defined anywhere, that read the variable that their first argument names.
        vocabulary: the names whose mentions are of interest.
    """
    words = (*_WORDS, *wrappers)
    found = FileUses()
    if any(word in text for word in words):
        seeds = [at for at in offsets(text, words) if not _REGISTRY.match(text, max(0, at - 1))]
        found = _read_uses(lex(text), seeds, wrappers) if seeds else found
    if vocabulary.may_occur_in(text):
        lexed = lex(text)
        found = found._replace(mentions=mentions(text, lexed.code, vocabulary, lexed.position))
    return found


def _read_uses(lexed: Lexed, seeds: Sequence[int], wrappers: Collection[str]) -> FileUses:
    """Read the statements that hold one of the seeds; and again, as long as that shows that others matter too."""
    every = statements(lexed)
    carriers: set[str] = set()
    missing: set[str] = set()
    for _ in range(_ROUNDS):
        using = sorted((*seeds, *offsets(lexed.text, carriers)))
        making = offsets(lexed.text, missing)
        chosen = [s for s in every if _matters(s, lexed, using, making, missing)]
        parsed = parse(lexed.text, chosen)
        lines = sorted(map(lexed.line_at, (*using, *making)))
        try:
            keys = KeyReader()
            found = read_module(parsed.module, lines, wrappers, keys)
        except RecursionError:
            return FileUses(unread=[s.line for s in every if any_within(seeds, s.start, s.end)])
        if carriers >= found.carriers and missing >= found.missing:
            break
        carriers |= found.carriers
        missing |= found.missing
    if keys.has_asked:
        from analyzers.environment.inference import inference_of

        found = read_module(parsed.module, lines, wrappers, KeyReader(inference_of(lexed.text).texts))
    unread = [s.line for s in parsed.failed if any_within(seeds, s.start, s.end)]
    uses = sorted(set(_uses(lexed, found.sites)), key=lambda use: (use.line, use.column, use.name))
    return FileUses(uses, (), found.wrappers, unread)


def _matters(
    statement: Statement, lexed: Lexed, using: Sequence[int], making: Sequence[int], missing: Collection[str]
) -> bool:
    """Whether a statement may use the environment, or say what `os` or a part of a key is."""
    start, end = statement.start, statement.end
    if any_within(using, start, end) or _BINDS_OS.match(lexed.code, start, end):
        return True
    if statement.defines:
        return statement.defines in missing
    return any_within(making, start, end) or binds_imports(statement, lexed)


def _uses(lexed: Lexed, sites: Iterable[Site]) -> Iterator[Use]:
    places = Places(lexed.text)
    for site in sites:
        name = ANY if site.access == "whole" else rendered(site.key)
        yield Use(name, site.access, *places.of(site.node), site.scope.symbol, site.discarded)
