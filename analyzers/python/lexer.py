"""Python source as its tokens see it: which characters are code, comment, string, docstring; one statement a line.

This is not a parser. It is exact on every file that is valid Python 3, and total on every other text: it neither
raises nor takes more than linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import accumulate, compress, repeat
from operator import add
from typing import Literal

from analyzers.python.literals import IDENTIFIER, PREFIX_LETTERS, is_template, prefix_start, template_end, token_end

Span = tuple[int, int]
"""Offsets of a first character and of the one after the last."""

Scope = Literal["code", "comments", "text"]


class Lexed:
    """A text, split into code, strings and comments. Every offset counts characters."""

    __slots__ = ("__dict__", "_masked", "code", "comments", "strings", "text")

    def __init__(self, text: str, code: str, strings: list[Span], comments: list[Span]) -> None:
        self.text = text
        self.code = code
        """As long as the text. Comments are spaces, every character of a string literal is `"`, and so that each
        line is one logical line, newlines within brackets, continuations and form feeds are spaces. The
        indentation of a line is the number of its leading spaces and tabs: a tab counts as one, as it does when
        the tokenizer checks for consistency."""
        self.strings = strings
        """Every string literal, prefix and quotes included; what is nested in an f-string belongs to it."""
        self.comments = comments
        """Every comment, from `#` to the end of its line."""
        self._masked: dict[Scope, str] = {"text": text}

    @cached_property
    def docstrings(self) -> list[Span]:
        """The string literals of every docstring: two where it is an implicit concatenation of two."""
        return [span for start in _first_statements(self.code) for span in self._docstring(start)]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *accumulate(map(add, map(len, self.text.split("\n")), repeat(1)))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both 1-based."""
        line = self.line_at(offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_at(self, offset: int) -> int:
        """The line of a character, 1-based."""
        return bisect_right(self._line_starts, offset)

    def line_start(self, line: int) -> int:
        """Offset of the first character of a 1-based line."""
        return self._line_starts[line - 1]

    def string_at(self, offset: int) -> Span:
        """The string literal that covers an offset at which `code` has a `"`."""
        return self.strings[bisect_right(self.strings, (offset, len(self.text))) - 1]

    def masked(self, scope: Scope) -> str:
        """The text with everything outside of the scope blanked: same length, same lines.

        "code" leaves out comments and docstrings, "comments" leaves only them, "text" is the text.
        """
        if scope not in self._masked:
            kept = _gaps(self._prose, len(self.text)) if scope == "code" else self._prose
            self._masked[scope] = _keep(self.text, kept)
        return self._masked[scope]

    @cached_property
    def _prose(self) -> list[Span]:
        return sorted(self.comments + self.docstrings)

    def _docstring(self, start: int) -> list[Span]:
        """The literals of the statement at `start` where it is nothing but a string that is neither bytes nor
        a template."""
        statement = _STRING_STATEMENT.match(self.code, start)
        if not statement or statement["open"].count("(") != statement["close"].count(")"):
            return []
        first = bisect_left(self.strings, (statement.start("strings"), 0))
        last = bisect_left(self.strings, (statement.end("strings"), 0))
        literals = self.strings[first:last]
        if any(_NOT_TEXT.match(self.text, literal[0]) for literal in literals):
            return []
        return literals


_STRING_STATEMENT = re.compile(r'(?P<open>[ \t(]*+)(?P<strings>"[" \t]*+)(?P<close>[) \t]*+)(?=[;\n]|\Z)')
_NOT_TEXT = re.compile(r"[rR]?[bBfFtT]")


@lru_cache(maxsize=1)
def lex(text: str) -> Lexed:
    """Read a text that has universal newlines and no byte order mark.

    The last answer is kept: the extractors of one file ask one after another.
    """
    strings: list[Span] = []
    comments: list[Span] = []
    pieces: list[str] = []
    templates = True
    # Looking for one character at a time is several times as fast as looking for any of three. Each is found: these
    # stand behind the text, where there is none.
    find = f"{text}\n#\"'".find
    at, comment, double, single = 0, -1, -1, -1
    while True:
        if comment < at:
            comment = find("#", at)
        if double < at:
            double = find('"', at)
        if single < at:
            single = find("'", at)
        start = min(comment, double, single)
        if start >= len(text):
            break
        if start == comment:
            end = find("\n", start)
            comments.append((start, end))
            pieces += (text[at:start], " " * (end - start))
        else:
            end = token_end(text, start)
            if start > at and text[start - 1] in PREFIX_LETTERS:
                quote, start = start, max(at, prefix_start(text, start))
                if templates and is_template(text[start:quote]) and text.find("{", quote, end) >= 0:
                    closed = template_end(text, start, quote)
                    # The file is not valid; taking its other templates for plain strings keeps the time linear.
                    templates = closed is not None
                    end = closed or end
            strings.append((start, end))
            pieces += (text[at:start], '"' * (end - start))
        at = end
    pieces.append(text[at:])
    return Lexed(text, _logical_lines("".join(pieces)), strings, comments)


_SPLIT_INDENTATION = re.compile(r"\n(?<!\\\n)([ \t\f]*+)\\\n((?:[ \t\f]++|\\\n)*+)")
_FORM_FEED = re.compile(r"(\A|\n)([ \t\f]*\f)([ \t]*)")


def _logical_lines(code: str) -> str:
    """Turn newlines within brackets and continuations into spaces, and indentations into plain blanks."""
    if "\\\n" in code:
        code = _SPLIT_INDENTATION.sub(_unsplit, "\n" + code)[1:].replace("\\\n", "  ")
    if "\f" in code:
        code = _FORM_FEED.sub(_after_form_feed, code).replace("\f", " ")
    lines = code.split("\n")
    joined: list[str] = []
    done = 0
    for first, last in _open_lines(code):
        joined += lines[done:first]
        joined.append(" ".join(lines[first : last + 1]))
        done = last + 1
    joined += lines[done:]
    return "\n".join(joined)


def _unsplit(match: re.Match[str]) -> str:
    """An indentation that goes on after a backslash is as deep as its first line, or if that is 0 as the rest."""
    column = len(match[1].rpartition("\f")[2])
    if not column:
        column = len(match[2].replace("\\\n", "").rpartition("\f")[2])
    return "\n" + "\f" * (len(match[0]) - 1 - column) + " " * column


def _after_form_feed(match: re.Match[str]) -> str:
    """A form feed sets the column back to 0: let the line start after it."""
    newline, before, after = match.groups()
    return " " * (len(newline + before) - 1) + "\n" + after


_BRACKETS = bytes.maketrans(b"([{)]}", b"((()))")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"([{)]}\n"))


def open_brackets(code: str, levels: int) -> bytes:
    """The brackets of a code, written as parentheses, and its newlines, less so many levels of innermost pairs that
    close on their line."""
    skeleton = code.encode("ascii", "replace").translate(_BRACKETS, _NOT_BRACKETS)
    while levels and b"()" in skeleton:
        skeleton = skeleton.replace(b"()", b"")
        levels -= 1
    return skeleton


def _open_lines(code: str) -> Iterator[tuple[int, int]]:
    """Numbers, from 0, of the first and last line of each run of lines that brackets hold together."""
    depth = first = 0
    lines = open_brackets(code, 4).split(b"\n")
    for number in compress(range(len(lines)), lines):
        before = depth
        depth = max(0, depth + _depth_change(lines[number]))
        if depth and not before:
            first = number
        elif before and not depth:
            yield first, number
    if depth:
        yield first, len(lines) - 1


@lru_cache
def _depth_change(brackets: bytes) -> int:
    return brackets.count(b"(") - brackets.count(b")")


_DEFINITION = re.compile(rf"\n[ \t]*+(?=[acd])(?:(?:async[ \t]+)?def|class)[ \t]+{IDENTIFIER}")
"""To be searched in a text with a newline put before it: a pattern that starts with a literal is fast."""

_BRACKET = re.compile(r"[()\[\]{}]")


def closing_bracket(code: str, start: int, stop: int) -> int | None:
    """Offset just after the bracket that closes the one at `start`; None where none does before `stop`."""
    depth = 0
    for bracket in _BRACKET.finditer(code, start, stop):
        depth += 1 if bracket[0] in "([{" else -1
        if not depth:
            return bracket.end()
    return None


_HEADER_STOP = re.compile(rf"[()\[\]{{}}]|:=?|lambda(?<!{IDENTIFIER}lambda)(?!{IDENTIFIER})|\n")


def header_colon(code: str, start: int) -> int:
    """Offset of the colon that ends the header of the compound statement at `start`; its line's end if it has
    none."""
    depth = lambdas = 0
    for stop in _HEADER_STOP.finditer(code, start):
        found = stop[0]
        if found == "\n":
            return stop.start()
        if found in ("(", "[", "{"):
            depth += 1
        elif found in (")", "]", "}"):
            depth -= 1
        elif depth == 0:
            if found == "lambda":
                lambdas += 1
            elif found == ":" and not lambdas:
                return stop.start()
            elif found == ":":
                lambdas -= 1
    return len(code)


def _first_statements(code: str) -> Iterator[int]:
    """Where the first statements of the module and of each class and function start, in order."""
    yield _blank_end(code, 0)
    padded = "\n" + code
    for definition in _DEFINITION.finditer(padded):
        end = padded.find("\n", definition.end()) - 1
        end = end if end >= 0 else len(code)
        header = code[definition.start() : end]
        if header.rstrip(" \t").endswith(":"):
            yield _blank_end(code, end)
        else:
            yield min(header_colon(code, definition.start()) + 1, len(code))


_BLANKS = re.compile(r"[ \t\n]*+")


def _blank_end(code: str, start: int) -> int:
    """The next offset that is not blank."""
    blanks = _BLANKS.match(code, start)
    return blanks.end() if blanks else start


def _gaps(spans: Iterable[Span], length: int) -> Iterator[Span]:
    """What lies between spans that are in order."""
    at = 0
    for start, end in spans:
        yield at, start
        at = end
    yield at, length


def _keep(text: str, kept: Iterable[Span]) -> str:
    """Blank all but the kept spans, newlines excepted."""
    pieces: list[str] = []
    at = 0
    for start, end in kept:
        pieces += (_blank(text[at:start]), text[start:end])
        at = end
    pieces.append(_blank(text[at:]))
    return "".join(pieces)


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n")) if "\n" in text else " " * len(text)
