"""Operators that C++ and CUDA source registers in `TORCH_LIBRARY` blocks.

Source: "The C++ dispatcher" in the PyTorch documentation and `torch/library.h`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from analyzers.native.facts import Definition, Implementation, Mention, NativeFacts
from analyzers.native.operators import base_name, gives_fake, named_by_schema
from analyzers.native.vocabulary import Vocabulary

_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)(?:\)(?P=mark)"|\Z)
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n]){1,8}'""",
    re.DOTALL | re.VERBOSE,
)
_BLOCK = re.compile(r"\b(?:STABLE_)?TORCH_LIBRARY(?P<kind>_FRAGMENT|_IMPL)?(?:_EXPAND)?\s*\(")
_STRING = re.compile(r'R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"', re.DOTALL)
_KEY = re.compile(r"\b(?:torch|c10|at)::(?:k|DispatchKey::|DeviceType::)(\w+)")
_FUNCTION = re.compile(r"(?:&\s*|\b(?:TORCH_FN|TORCH_BOX)\s*\(\s*&?\s*)((?:\w+::)*\w+(?:<[^<>]*>)?)")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_BRACKET = re.compile(r"[(\[{)\]}]")
_OPEN = "([{"
_BRACE = re.compile(r"\s*\{")
_NEWLINE = re.compile(r"\n")
_NO_NEWLINE = re.compile(r"[^\n]")


class _Block(NamedTuple):
    kind: str
    namespace: str
    key: str
    variable: str
    start: int
    end: int


def read_cpp(text: str, vocabulary: Vocabulary) -> NativeFacts:
    """Read one file. A bracket that is not closed opens nothing; nothing is raised."""
    facts = NativeFacts()
    if "TORCH_LIBRARY" not in text:
        return facts
    code = _DIRECTIVE.sub(_blank, _TOKEN.sub(_blanked, text))
    source = _Source(code, _TOKEN.sub(_without_comment, text))
    for block in _blocks(source, dict(vocabulary.macros)):
        for method, start, arguments in _registrations(source, block):
            _register(facts, block, method, arguments, source.place(start))
    return facts


class _Source:
    """A text without comments, and the same one with strings and preprocessor lines blank."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self._text = text
        self._lines = [0, *(match.end() for match in _NEWLINE.finditer(code))]
        self._closing: dict[int, int] = {}
        waiting: list[int] = []
        for match in _BRACKET.finditer(code):
            if match[0] in _OPEN:
                waiting.append(match.start())
            elif waiting:
                self._closing[waiting.pop()] = match.end()

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both 1-based."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def closing(self, start: int) -> int | None:
        """Offset just after the bracket that closes the one at `start`."""
        return self._closing.get(start)

    def arguments(self, start: int) -> list[str]:
        """What stands in the brackets that open at `start`, cut at the commas that stand in no others."""
        found, begin = [], start + 1
        offset, end = begin, self._closing[start] - 1
        while offset < end:
            inner = self._closing.get(offset)
            if self.code[offset] == "," and inner is None:
                found.append(self._text[begin:offset])
                begin = offset + 1
            offset = offset + 1 if inner is None else inner
        return [*found, self._text[begin:end]] if self.code[begin:end].strip() else found


def _blanked(token: re.Match[str]) -> str:
    """A comment as blanks, a string as quotes, with every newline kept."""
    return _NO_NEWLINE.sub(" " if token[0].startswith("/") else '"', token[0])


def _without_comment(token: re.Match[str]) -> str:
    return _blank(token) if token[0].startswith("/") else token[0]


def _blank(match: re.Match[str]) -> str:
    return _NO_NEWLINE.sub(" ", match[0])


def _blocks(source: _Source, macros: dict[str, str]) -> Iterator[_Block]:
    done = 0
    for match in _BLOCK.finditer(source.code):
        end = source.closing(match.end() - 1)
        if end is None or match.start() < done:
            continue
        done = end
        brace = _BRACE.match(source.code, end)
        close = source.closing(brace.end() - 1) if brace else None
        arguments = [argument.strip() for argument in source.arguments(match.end() - 1)]
        if brace and close is not None and len(arguments) > 1:
            done = close
            kind = match["kind"] or ""
            key = arguments[1] if kind == "_IMPL" else ""
            yield _Block(kind, _namespace(arguments[0], macros), key, arguments[-1], brace.end(), close)


def _namespace(written: str, macros: dict[str, str]) -> str:
    """What a namespace is called; `CONCAT(A, B)` joins what its arguments stand for."""
    called = re.fullmatch(r"_?CONCAT\w*\s*\((.*)\)", written, re.DOTALL)
    parts = called[1].split(",") if called else [written]
    return "".join(macros.get(part.strip(), part.strip()) for part in parts)


def _registrations(source: _Source, block: _Block) -> Iterator[tuple[str, int, list[str]]]:
    """Method, offset and arguments of every `def` and `impl` of a block."""
    call = re.compile(rf"\b{re.escape(block.variable)}\s*\.\s*(def|impl)\s*\(")
    for match in call.finditer(source.code, block.start, block.end):
        if source.closing(match.end() - 1) is not None:
            yield match[1], match.start(), source.arguments(match.end() - 1)


def _register(facts: NativeFacts, block: _Block, method: str, arguments: list[str], place: tuple[int, int]) -> None:
    told = _text(arguments[0]) if arguments else ""
    name = named_by_schema(told)
    if not name:
        return
    operator = base_name(name if "::" in name else f"{block.namespace}::{name}")
    rest = ", ".join(arguments[1:])
    found = _KEY.search(rest)
    key = found[1] if found else block.key
    function = _function(arguments[1:])
    if method == "def" and block.kind != "_IMPL":
        facts.definitions.append(Definition(operator, told if "(" in told else "", "c++", *place, ""))
    if method == "impl" and gives_fake(key):
        facts.fakes.append(Mention(operator, place[0]))
    elif function:
        facts.implementations.append(Implementation(operator, key, function, *place, ""))


def _text(argument: str) -> str:
    """What adjacent string literals say together."""
    return "".join(match["text"] if match["raw"] is None else match["raw"] for match in _STRING.finditer(argument))


def _function(arguments: list[str]) -> str:
    """The function that is registered; empty for a lambda."""
    for argument in reversed(arguments):
        found = _FUNCTION.search(argument)
        if found:
            return found[1]
        if re.fullmatch(r"\s*(?:\w+::)*\w+\s*", argument) and not _KEY.search(argument):
            return argument.strip()
    return ""
