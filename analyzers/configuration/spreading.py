"""What is spread into the arguments of calls. Words show of most of it that it is no object with fields: a dict that
the file makes, or what a function was given as `**kwargs`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.configuration.attribute_names import ANYTHING
from analyzers.configuration.scopes import DUMPING, DUMPING_METHODS, SAME
from analyzers.python.lexer import closing_bracket
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
_NAME = re.compile(r"[ \t]*+((?!(?:not|lambda|await|yield)\b)[^\W\d]\w*+)(?![ \t]*+[.(\[\"])")
_CONSTANT = re.compile(r"[ \t]*+(?:None|True|False|\d+)(?!\w)")
_DICT = re.compile(r"[ \t]*+(?:dict(?=\()|(?=\{))")
_CALL = re.compile(r"[ \t]*+(?:await[ \t]+)?((?!await\()[^\W\d][\w.]*+)(?=\()")
_OR_ELSE = re.compile(r"[ \t]*+(?:or\b|and\b|if\b(?:(?!\bif\b)[^\n])*?\belse\b)")
_END = re.compile(r"[ \t\n]*+(?:[,)}:;]|\Z)|[ \t]*+\n")
_BRACKET = re.compile(r"[()\[\]{}]")
_CALLED = re.compile(r"[\w)\]]")
"""What stands before the bracket of a call or a subscript."""
_HANDING_ON = SAME | DUMPING | DUMPING_METHODS | {"getattr", "cast"}
"""Functions that give what they are given, or its fields."""
_DUMPS = re.compile(rf"\b(?:{'|'.join(sorted(DUMPING | DUMPING_METHODS - {'dict'}))}|__dict__)\b|\.dict\b")
"""What in an expression that makes a dict may put the fields of an object into it."""
_REACH = 4_000
"""How far back a statement is looked at, and how far on for the end of a bracket."""
_MOST = 500
"""How many expressions and names are looked at. Beyond these bounds words tell nothing, so that no file takes long."""


def spread_words(code: str) -> set[str]:
    """The words one of which names the class or function that gives an object which is spread into a call, if any is.

    Args:
        code: as `Lexed.code` has it: one statement a line, nothing legible in strings and comments.
    """
    reader = _Reader(code)
    for at in _spreads(code):
        reader.value(at, direct=True)
        # Names beyond ASCII may be one although they are written in two ways.
        if reader.knows_nothing or not code.isascii():
            return {ANYTHING}
    for name in reader.names:
        for at in offsets(code, (name,)):
            reader.binding(at, at + len(name))
            if reader.knows_nothing:
                return {ANYTHING}
    return reader.words.union(reader.names)


def _spreads(code: str) -> Iterator[int]:
    """Where something starts that `**` spreads into arguments, or a parameter that takes them: not a power, and not
    what a dict display takes in."""
    at = code.find("**")
    while at >= 0:
        before = code[max(code.rfind("\n", 0, at) + 1, at - _REACH) : at]
        if before.rstrip(" \t").endswith(("(", ",")):
            opened = _open_brackets(before)
            if not opened or before[opened[-1]] != "{":
                yield at + 2
        at = code.find("**", at + 2)


def _open_brackets(before: str) -> list[int]:
    """The offsets of the brackets that are open at the end of a piece of code, the innermost last."""
    opened: list[int] = []
    for bracket in _BRACKET.finditer(before):
        if bracket[0] in "([{":
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    return opened


class _Reader:
    """Gathers the words that tell what expressions are, and the names that stand for these."""

    def __init__(self, code: str) -> None:
        self._code = code
        self.words: set[str] = set()
        self.names: list[str] = []
        """In order of discovery: what one is bound to may be another."""
        self._values = 0

    @property
    def knows_nothing(self) -> bool:
        return ANYTHING in self.words

    def binding(self, at: int, end: int) -> None:
        """What a name is bound to in one place, if it is bound there, and to what may be an object."""
        code = self._code
        start = code.rfind("\n", 0, at) + 1
        before = code[max(start, at - _REACH) : at].lstrip(" \t")
        if before.endswith(("**", ".")) or code[end : end + 1] in (".", "["):
            return
        foreign = _IMPORT.match(before) or _AS.search(before) or _OPEN_FOR.search(before) or _IS_NAMED.match(code, end)
        last = before.rstrip(" \t")[-1:]
        opens = last in ("", ";", ":")
        assigned = _IS.match(code, end)
        if foreign or at - start > _REACH:
            self.words.add(ANYTHING)
        elif opened := _open_brackets(before):
            self._within_brackets(before, opened[0], end)
        elif assigned and (opens or last == "="):
            self.value(assigned.end())
        elif opens and _IS_ANNOTATED.match(code, end):
            self._annotated(end)
        elif not _IS_CHANGED.match(code, end) and self._is_target(end):
            self.words.add(ANYTHING)

    def _within_brackets(self, before: str, outermost: int, end: int) -> None:
        """A parameter, or one of several targets; all else is a keyword argument, a default or a mere use."""
        parameter = _DEFINITION.match(before) and _IS_ANNOTATED.match(self._code, end)
        called = _CALLED.match(before, outermost - 1) if outermost else None
        target = called is None and before[outermost] != "{" and self._is_target(end)
        if target or (parameter and not _MAPPING.match(self._code, end)):
            self.words.add(ANYTHING)

    def _is_target(self, end: int) -> bool:
        """Whether something is assigned further on in the line."""
        stop = self._code.find("\n", end)
        return _OTHER_IS.search(self._code, end, stop if stop >= 0 else len(self._code)) is not None

    def _annotated(self, end: int) -> None:
        mapping = _MAPPING.match(self._code, end)
        if mapping is None:
            self.words.add(ANYTHING)
        elif assigned := _IS.match(self._code, mapping.end()):
            self.value(assigned.end())

    def value(self, at: int, *, direct: bool = False) -> None:
        """What the expression at an offset is; `direct` where it is spread right there."""
        while self._values < _MOST:
            self._values += 1
            end = self._alternative(at, direct)
            if _END.match(self._code, end):
                return
            other = _OR_ELSE.match(self._code, end)
            if other is None:
                break
            at = other.end()
        self.words.add(ANYTHING)

    def _alternative(self, at: int, direct: bool) -> int:
        """Where the constant, the dict, the name or the call at an offset ends; that offset where there is none."""
        code = self._code
        if made := _CONSTANT.match(code, at):
            return made.end()
        if made := _DICT.match(code, at):
            end = self._closing(made.end())
            if _DUMPS.search(code, at, end):
                self.words.add(ANYTHING)
            return end
        if made := _CALL.match(code, at):
            parts = made[1].split(".")
            hidden = parts[-1] in _HANDING_ON or (direct and len(parts) > 1)
            self.words.update((ANYTHING,) if hidden else parts)
            return self._closing(made.end())
        if made := _NAME.match(code, at):
            if made[1] not in self.names:
                self.names.append(made[1])
            return made.end()
        return at

    def _closing(self, start: int) -> int:
        """Offset just after the bracket that closes the one at `start`; `start` itself where none does within reach."""
        return closing_bracket(self._code, start, start + _REACH) or start
