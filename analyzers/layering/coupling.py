"""LAY101: names that a file uses and does not own, counted one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, Self

from msgspec import Struct

from analyzers.errors import UserError
from analyzers.finding import Finding
from analyzers.globs import matcher
from analyzers.layering.coupling_search import TIMEOUT, Search
from analyzers.layering.policy import CouplingPattern
from analyzers.python.facts import PythonFacts
from analyzers.source import Source

Scope = Literal["code", "comments", "text"]

PYTHON_SUFFIXES = (".py", ".pyi")
"""Of the files that have the scopes "code" and "comments"."""
_VERSION = 1
_LONGEST = 80
"""Characters kept of a match."""


class PatternTimeoutError(UserError):
    """A pattern of the settings takes too long on a file. The message names both."""


class Match(NamedTuple):
    """One use of a name."""

    pattern: int
    """Index into the patterns."""
    line: int
    column: int
    text: str
    """What matched, cut after 80 characters."""


class CouplingExtractor(Struct, frozen=True):
    """Finds what some patterns match in one file."""

    patterns: tuple[tuple[str, Scope], ...]

    @classmethod
    def of(cls, policy: Iterable[CouplingPattern]) -> Self:
        return cls(tuple((entry.pattern, entry.scope) for entry in policy))

    @property
    def kind(self) -> str:
        """Names the fact: other patterns or scopes are another fact."""
        digest = blake2b(repr(self.patterns).encode("utf-8", "surrogatepass"), digest_size=8)
        return f"coupling@{_VERSION}:{digest.hexdigest()}"

    def extract(self, source: Source) -> list[Match]:
        """Every match of every pattern that is not empty, by pattern and then by place.

        In the scope "text" these are the matches of the plain expression in the plain file. In "code" and
        "comments" everything else counts as blank; only Python files have such scopes.

        Raises:
            PatternTimeoutError: a pattern takes longer than ten seconds.
        """
        return [
            Match(index, *match)
            for index, (pattern, scope) in enumerate(self.patterns)
            for match in _matches(pattern, scope, source)
        ]


def observed_files(policy: Sequence[CouplingPattern], paths: Iterable[str]) -> list[str]:
    """The files in which some pattern counts: the ones that the extractor has to see."""
    watches = [_watched(entry) for entry in policy]
    return [path for path in paths if any(watched(path) for watched in watches)]


def check_coupling(
    policy: Sequence[CouplingPattern],
    matches: Mapping[str, Sequence[Sequence[Any]]],
    facts: Mapping[str, PythonFacts],
) -> Iterator[Finding]:
    """Report every match in a file that its pattern watches.

    Args:
        policy: the patterns, in the order in which the extractor had them.
        matches: path -> what the extractor found there; rows of `Match`, or the lists that JSON makes of them.
        facts: what each Python file says, by path.
    """
    watches = [_watched(entry) for entry in policy]
    for path, rows in matches.items():
        watched = {index for index in {row[0] for row in rows} if watches[index](path)}
        said = facts.get(path)
        for index, line, column, text in rows:
            if index in watched:
                kind = policy[index].kind
                yield Finding(
                    rule="LAY101",
                    path=path,
                    line=line,
                    column=column,
                    symbol=said.symbol_around(line) if said else "",
                    subject=f"{kind}: {text}",
                    message=f"names `{text}` ({kind}), which this file does not own",
                    hint="Ask for the property that matters instead of the name, or move this to a file that owns it.",
                )


def coupling_kind(finding: Finding) -> str:
    """The kind of a LAY101 finding."""
    return finding.subject.partition(":")[0]


def _matches(pattern: str, scope: Scope, source: Source) -> Iterator[tuple[int, int, str]]:
    """Line, column and text of every match of one pattern."""
    text = source.text
    if scope != "text" and not source.path.endswith(PYTHON_SUFFIXES):
        return
    try:
        search = Search(pattern, text)
        if scope != "text":
            if search.is_hopeless():
                return
            from analyzers.python.lexer import lex

            text = lex(text).masked(scope)
        line, line_start, counted = 1, 0, 0
        for start, end in search.spans(text):
            if start == end:
                continue
            line += text.count("\n", counted, start)
            line_start = max(line_start, text.rfind("\n", counted, start) + 1)
            counted = start
            yield line, start - line_start + 1, text[start : min(end, start + _LONGEST)]
    except TimeoutError:
        raise PatternTimeoutError(
            f"{source.path}: the pattern {pattern!r} takes longer than {TIMEOUT:.0f} seconds on this file"
        ) from None


def _watched(entry: CouplingPattern) -> Callable[[str], bool]:
    selected, owned = matcher(entry.files), matcher(entry.owners)
    return lambda path: selected(path) and not owned(path)
