"""Uses of the environment in C, C++ and CUDA sources."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from analyzers.environment.mentions import NOTHING, Vocabulary, mentions
from analyzers.environment.uses import ANY, Access, FileUses, Use

_FUNCTIONS: Mapping[str, Access] = {
    "getenv": "read",
    "secure_getenv": "read",
    "_wgetenv": "read",
    "GetEnvironmentVariableA": "read",
    "GetEnvironmentVariable": "read",
    "setenv": "write",
    "putenv": "write",
    "_putenv": "write",
    "_putenv_s": "write",
    "SetEnvironmentVariableA": "write",
    "SetEnvironmentVariable": "write",
    "unsetenv": "delete",
}
_CONTINUED = re.compile(r"\\[ \t]*\n")
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|(?:u8|[uUL])?R"([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)|"(?:[^"\\\n]|\\.)*"?|(?<![\w'])'(?:[^'\\\n]|\\.)*'?""",
    re.DOTALL,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^()\n]*)\))?[ \t]*([^\n]*)", re.MULTILINE)
_CONSTANT = re.compile(r'\b(\w+)[ \t]*(?:\[[ \t]*\][ \t]*)?[={{]\s*(\w{0,3}"[\s"]*)[;}]')
_FUNCTION = re.compile(
    r"\b(\w+)\s*(?:=\s*\[[^\][{}]*\]\s*)?\(([^(){};]*)\)\s*(?:(?:const|noexcept|mutable|override)\s*)*(?:->[^{};()]*)?\{"
)
_STRING = re.compile(
    r'(?:u8|[uUL])?(?:R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\\n]|\\.)*)")', re.DOTALL
)
_PART = re.compile(
    rf"(?P<string>{_STRING.pattern})|#[ \t]*(?P<spelled>\w+)|(?P<name>[A-Za-z_]\w*)|(?P<other>\S)", re.DOTALL
)
_WRAPPED = re.compile(r"\s*(?:std::string(?:_view)?\s*)?\((.*)\)\s*(?:\.\s*(?:c_str|data)\s*\(\s*\))?\s*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BRACKET = re.compile(r"[()\[\]{},]")
_KEYWORDS = frozenset(("if", "for", "while", "switch", "catch", "return", "sizeof"))
_STRING_TYPES = frozenset(("std", "string", "string_view", "s"))
_JOINTS = frozenset("+#:()")
_TYPE = re.compile(r"(?:\bdefine[ \t]+)?\b([A-Za-z_]\w*)(?:\s*[*&])*\s*\Z")
_BEFORE_CALLS = frozenset(("return", "else", "case", "do", "throw", "and", "or", "not", "co_return", "co_yield"))
_REACH = 80
_DEEPEST = 8
_LONGEST = 500
"""The most characters of a call's arguments that are looked at."""


class _Owner(NamedTuple):
    """A function or function-like macro."""

    name: str
    parameters: list[str]
    start: int
    end: int
    """Of its body."""


class _Call(NamedTuple):
    name: str
    at: int
    arguments: list[str]


class _Text(NamedTuple):
    """A source without its line continuations."""

    text: str
    code: str
    """As long as the text: strings are `"`, comments are blank."""
    line_starts: list[int]
    joins: list[int]
    """Offsets before which a continuation was taken out."""

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.line_starts, offset)
        return line + bisect_right(self.joins, offset), offset - self.line_starts[line - 1] + 1


def read_native(source: str, wrappers: Sequence[str] = (), vocabulary: Vocabulary = NOTHING) -> FileUses:
    """What a C-like file does with the environment; the arguments are those of `read_python`."""
    named: dict[str, Access] = {**_FUNCTIONS, **dict.fromkeys(wrappers, "read")}
    if not any(name in source for name in named) and not vocabulary.may_occur_in(source):
        return FileUses()
    text = _lexed(source)
    uses = sorted(set(_Reader(text, named).uses()), key=lambda use: (use.line, use.column, use.name))
    return FileUses(uses, mentions(text.text, text.code, vocabulary, text.position))


def _lexed(source: str) -> _Text:
    joins = []
    removed = 0
    for match in _CONTINUED.finditer(source):
        joins.append(match.start() - removed)
        removed += len(match[0])
    text = _CONTINUED.sub("", source)
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return _Text(text, _TOKEN.sub(_masked, text), line_starts, joins)


class _Reader:
    def __init__(self, text: _Text, functions: Mapping[str, Access]) -> None:
        self._text = text
        self._functions = functions
        self._calls_of: dict[str, list[_Call]] = {}

    # Most files call none of the functions, and then nobody asks for these.

    @cached_property
    def _owners(self) -> list[_Owner]:
        return list(_owners(self._text))

    @cached_property
    def _constants(self) -> dict[str, str]:
        """What the names of strings stand for, as written."""
        text, code = self._text.text, self._text.code
        defined = {
            define[1]: text[define.start(3) : define.end(3)]
            for define in _DEFINE.finditer(code)
            if define[2] is None and '"' in define[3]
        }
        return defined | {m[1]: text[m.start(2) : m.end(2)] for m in _CONSTANT.finditer(code)}

    def uses(self) -> Iterator[Use]:
        for function in self._calls(self._functions):
            access, argument = self._functions[function.name], function.arguments[0]
            owner = self._owner(function.at, argument)
            calls = self._calls_from_outside(owner) if owner else []
            parameters = owner.parameters if owner else []
            for call in calls:
                yield self._use(argument, access, call.at, dict(zip(parameters, call.arguments, strict=False)))
            if not calls and not (owner and owner.name in self._functions):
                yield self._use(argument, access, function.at, {})

    def _calls_from_outside(self, owner: _Owner) -> list[_Call]:
        if owner.name not in self._calls_of:
            self._calls_of[owner.name] = list(self._calls([owner.name]))
        return [call for call in self._calls_of[owner.name] if not owner.start <= call.at < owner.end]

    def _calls(self, names: Iterable[str]) -> Iterator[_Call]:
        """Every call, and what looks like one."""
        pattern = re.compile(rf"(?<![\w.>])({'|'.join(map(re.escape, names))})\s*\(")
        for match in pattern.finditer(self._text.code):
            arguments = self._arguments(match.end())
            if any(argument.strip() for argument in arguments) and not self._is_declared(match.start()):
                yield _Call(match[1], match.start(), arguments)

    def _is_declared(self, at: int) -> bool:
        """Whether a type stands before a name, so that it is declared and not called."""
        before = _TYPE.search(self._text.code, max(0, at - _REACH), at)
        return before is not None and before[1] not in _BEFORE_CALLS and not before[0].startswith("define")

    def _arguments(self, start: int) -> list[str]:
        """The arguments of the call whose parenthesis is open at an offset."""
        found, depth, first = [], 1, start
        for bracket in _BRACKET.finditer(self._text.code, start, start + _LONGEST):
            if bracket[0] == "," and depth == 1:
                found.append(self._text.text[first : bracket.start()])
                first = bracket.end()
            elif bracket[0] != ",":
                depth += 1 if bracket[0] in "([{" else -1
                if not depth:
                    return [*found, self._text.text[first : bracket.start()]]
        return [""]

    def _owner(self, at: int, argument: str) -> _Owner | None:
        """The innermost function or macro around a call whose parameter is a part of the argument."""
        words = {match["name"] or match["spelled"] for match in _PART.finditer(argument)}
        around = [o for o in self._owners if o.start <= at < o.end and not words.isdisjoint(o.parameters)]
        return max(around, key=lambda owner: owner.start, default=None)

    def _use(self, argument: str, access: Access, at: int, given: Mapping[str, str]) -> Use:
        name = self._name(argument, given)
        if access == "write":
            name = name.partition("=")[0]
        while ANY * 2 in name:
            name = name.replace(ANY * 2, ANY)
        around = [owner.name for owner in self._owners if owner.start <= at < owner.end]
        return Use(name, access, *self._text.position(at), around[-1] if around else "")

    def _name(self, argument: str, given: Mapping[str, str], depth: int = 0) -> str:
        """What an argument is, with `*` for each part that is not known."""
        if depth > _DEEPEST:
            return ANY
        if wrapped := _WRAPPED.fullmatch(argument):
            return self._name(wrapped[1], given, depth + 1)
        if argument.rstrip().endswith((".c_str()", ".data()")):
            argument = argument.rstrip().rpartition(".")[0]
        name = ""
        for part in _PART.finditer(argument):
            if part["string"]:
                name += _value(part["string"])
            elif part["spelled"] in given:
                name += given[part["spelled"]].strip()
            elif part["name"] in given:
                name += self._name(given[part["name"]], {}, depth + 1)
            elif part["name"] in self._constants:
                name += self._name(self._constants[part["name"]], {}, depth + 1)
            elif part["name"] not in _STRING_TYPES and part["other"] not in _JOINTS:
                name += ANY
        return name or ANY


def _owners(text: _Text) -> Iterator[_Owner]:
    for define in _DEFINE.finditer(text.code):
        if define[2] is not None:
            yield _Owner(define[1], [name.strip() for name in define[2].split(",")], define.start(), define.end())
    for function in _FUNCTION.finditer(text.code):
        if function[1] not in _KEYWORDS:
            names = [
                words[-1] for part in function[2].split(",") if (words := re.findall(r"\w+", part.partition("=")[0]))
            ]
            yield _Owner(function[1], names, function.start(), _block_end(text.code, function.end()))


def _block_end(code: str, start: int) -> int:
    depth = 1
    for brace in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(code)


def _value(literal: str) -> str:
    """The text of a string literal; escapes other than of a quote or backslash do not occur in names."""
    match = _STRING.fullmatch(literal)
    if match is None:
        return ANY
    return match["raw"] if match["raw"] is not None else _ESCAPED.sub(r"\1", match["plain"])


def _masked(token: re.Match[str]) -> str:
    mark = " " if token[0].startswith("/") else '"'
    return "\n".join(mark * len(line) for line in token[0].split("\n")) if "\n" in token[0] else mark * len(token[0])
