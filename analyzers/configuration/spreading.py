"""What is spread into the arguments of calls. Words show of most of it that it is no object with fields: a dict that
the file makes, or what a function was given as `**kwargs`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.configuration.attribute_names import ANYTHING
from analyzers.configuration.scopes import DUMPING, DUMPING_METHODS, SAME
from analyzers.python.words import offsets

_DEFINITION = re.compile(r"(?:async[ \t]+)?def\b")
_IMPORT = re.compile(r"(?:from|import)\b")
_AS = re.compile(r"\bas\b")
_OPEN_FOR = re.compile(r"\bfor\b(?!.*\bin\b)")
_IS = re.compile(r"[ \t]*+=(?!=)")
_IS_CHANGED = re.compile(r"[ \t]*+(?://|>>|<<|\*\*|[-+*/%&|^@])=")
_IS_NAMED = re.compile(r"[ \t]*+:=")
_IS_ANNOTATED = re.compile(r"[ \t]*+:(?!=)")
_OTHER_IS = re.compile(r"(?<![=!<>:])=(?!=)")
_MAPPING = re.compile(
    r"[ \t]*+:[ \t]*+(?:Any|(?:Optional\[)?(?:\w+\.)?(?:dict|Dict|Mapping|MutableMapping)"
    r"(?:\[[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*\])?\]?)(?:[ \t]*\|[ \t]*None)?[ \t]*+(?=[,)=\n]|\Z)"
)
"""The annotation of what is no object with fields."""
_BARE_NAME = re.compile(r"[ \t]*+([^\W\d]\w*+)[ \t\n]*+(?=[,):])")
_CONSTANT = re.compile(r"[ \t]*+(?:None|True|False|\d+)(?!\w)")
_DICT = re.compile(r"[ \t]*+(?:dict(?=\()|(?=\{))")
_CALL = re.compile(r"[ \t]*+(?:await[ \t]+)?([^\W\d][\w.]*+)(?=\()")
_ELSE = re.compile(r"[ \t]*+if\b[^\n]*?\belse\b")
_END = re.compile(r"[ \t]*+(?:[,)}\n;]|\Z)")
_BRACKET = re.compile(r"[()\[\]{}]")
_HANDING_ON = SAME | DUMPING | DUMPING_METHODS | {"getattr", "cast"}
"""Functions that give what they are given, or its fields."""
_DUMPS = re.compile(rf"\b(?:{'|'.join(sorted(DUMPING | DUMPING_METHODS - {'dict'}))}|__dict__)\b|\.dict\b")
"""What in an expression that makes a dict may put the fields of an object into it."""


def spread_words(code: str) -> set[str]:
    """The words one of which names the class or function that gives an object which is spread into a call, if any is.

    Args:
        code: as `Lexed.code` has it: one statement a line, nothing legible in strings and comments.
    """
    words: set[str] = set()
    names: set[str] = set()
    for at in _spreads(code):
        if bare := _BARE_NAME.match(code, at):
            names.add(bare[1])
        else:
            words |= _value(code, at, direct=True)
    for name in names:
        for at in offsets(code, (name,)):
            words |= _binding(code, at, at + len(name))
    return words | names


def _spreads(code: str) -> Iterator[int]:
    """Where something starts that `**` spreads into arguments, or a parameter that takes them: not a power, and not
    what a dict display takes in."""
    at = code.find("**")
    while at >= 0:
        before = code[code.rfind("\n", 0, at) + 1 : at]
        if before.rstrip(" \t").endswith(("(", ",")) and _around(before) == "(":
            yield at + 2
        at = code.find("**", at + 2)


def _around(before: str) -> str:
    """The innermost bracket that is open at the end of a piece of code; empty where there is none."""
    closed = 0
    brackets: list[str] = _BRACKET.findall(before)
    for bracket in reversed(brackets):
        closed += 1 if bracket in ")]}" else -1
        if closed < 0:
            return bracket
    return ""


def _binding(code: str, at: int, end: int) -> set[str]:
    """The words that tell what a name is bound to in one place; none where it is not bound there, or to no object."""
    start = code.rfind("\n", 0, at) + 1
    before = code[start:at].lstrip(" \t")
    if before.endswith(("**", ".")) or code[end : end + 1] in (".", "["):
        return set()
    if _IMPORT.match(before) or _AS.search(before) or _OPEN_FOR.search(before) or _IS_NAMED.match(code, end):
        return {ANYTHING}
    if _around(before):
        if _DEFINITION.match(before) and _IS_ANNOTATED.match(code, end):
            return set() if _MAPPING.match(code, end) else {ANYTHING}
        # A keyword argument, a default or a mere use; or else, where brackets open the line, targets.
        return {ANYTHING} if before.startswith(("(", "[")) and not _IS.match(code, end) else set()
    if assigned := _IS.match(code, end):
        return _value(code, assigned.end())
    if _IS_CHANGED.match(code, end):
        return set()
    if not before and _IS_ANNOTATED.match(code, end):
        annotated = _MAPPING.match(code, end)
        if annotated is None:
            return {ANYTHING}
        given = _IS.match(code, annotated.end())
        return _value(code, given.end()) if given else set()
    stop = code.find("\n", end)
    return {ANYTHING} if _OTHER_IS.search(code, end, stop if stop >= 0 else len(code)) else set()


def _value(code: str, at: int, *, direct: bool = False) -> set[str]:
    """The words that tell what an expression is; `direct` where it is spread right there."""
    words: set[str] = set()
    while True:
        end, some = _alternative(code, at, direct)
        words |= some
        if _END.match(code, end):
            return words
        other = _ELSE.match(code, end)
        if other is None:
            return {ANYTHING}
        at = other.end()


def _alternative(code: str, at: int, direct: bool) -> tuple[int, set[str]]:
    """Where a constant, a dict that is made there, or a call ends, and the words that tell what it is."""
    if made := _CONSTANT.match(code, at):
        return made.end(), set()
    if made := _DICT.match(code, at):
        end = _closing(code, made.end())
        return end, {ANYTHING} if _DUMPS.search(code, at, end) else set()
    if made := _CALL.match(code, at):
        parts = made[1].split(".")
        hidden = parts[-1] in _HANDING_ON or (direct and len(parts) > 1)
        return _closing(code, made.end()), {ANYTHING} if hidden else set(parts)
    return at, {ANYTHING}


def _closing(code: str, start: int) -> int:
    """Offset just after the bracket that closes the one at `start`."""
    depth = 0
    for bracket in _BRACKET.finditer(code, start):
        depth += 1 if bracket[0] in "([{" else -1
        if not depth:
            return bracket.end()
    return len(code)
