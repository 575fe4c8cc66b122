"""Where a string literal starts and ends: prefixes, escapes, and the nested fields of f-strings and t-strings.

Source: "Lexical analysis" in the Python language reference, PEP 701 (f-strings) and PEP 750 (t-strings).
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import normalize

IDENTIFIER = r"[^\x00-/:-@\[-\^`{-\x7f]"
"""One character of a name, as CPython's tokenizer has it: outside of strings and comments, nothing that is not
ASCII can be anything else. Said by what it is not, a pattern is compiled twenty times as fast."""


def normal(name: str) -> str:
    """A name as the compiler compares it: NFKC (PEP 3131)."""
    return name if name.isascii() else normalize("NFKC", name)


_PREFIXES = frozenset(("r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt"))
PREFIX_LETTERS = frozenset("rubftRUBFT")
"""What the character before a quote is one of wherever the literal has a prefix."""

_BODY = {
    '"""': r'[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*',
    "'''": r"[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*",
    '"': r'[^"\\\n]*+(?:\\.[^"\\\n]*+)*',
    "'": r"[^'\\\n]*+(?:\\.[^'\\\n]*+)*",
}

_TOKEN = re.compile(
    "|".join((r"#[^\n]*+", *(f"{quote}{body}(?:{quote})?" for quote, body in _BODY.items()))), re.DOTALL
)


def token_end(text: str, start: int) -> int:
    """Offset just after the comment that starts at `start`, or the string whose opening quote stands there.

    A raw string ends where any other does: a backslash keeps its quote from closing either. What is not closed ends
    with its line, or its file where it is triple-quoted. Replacement fields count as plain characters.
    """
    token = _TOKEN.match(text, start)
    assert token is not None
    return token.end()


def prefix_start(text: str, quote: int) -> int:
    """Offset at which the literal whose opening quote stands at `quote` starts."""
    start = quote
    while start and quote - start < 3 and _is_identifier(text[start - 1]):
        start -= 1
    return start if text[start:quote].lower() in _PREFIXES else quote


def _is_identifier(character: str) -> bool:
    return character.isalnum() or character == "_" or character > "\x7f"


_TEMPLATE_LETTERS = frozenset("ftFT")


def is_template(prefix: str) -> bool:
    """Whether the prefix makes a string an f-string or t-string."""
    return not _TEMPLATE_LETTERS.isdisjoint(prefix)


class Template(NamedTuple):
    """An f-string or t-string."""

    end: int
    """Offset just after its closing quote."""
    code: str
    """As long as the literal, on one line: the expressions of its replacement fields, with `"` for the strings in
    them, and `(` for all else, which joins with nothing."""


def read_template(text: str, start: int) -> Template | None:
    """Read the f-string or t-string that starts at `start`; None when it does not end."""
    return _TemplateReader(text, start).read()


def template_end(text: str, start: int, quote: int) -> int | None:
    """Offset just after the f-string or t-string that starts at `start`, its opening quote at `quote`."""
    mark = text[quote : quote + 3]
    plain = _PLAIN_TEMPLATE[mark if mark in _PLAIN_TEMPLATE else mark[0]].match(text, quote)
    if plain:
        return plain.end()
    template = read_template(text, start)
    return template.end if template else None


def _plain_template(quote: str) -> re.Pattern[str]:
    """A template whose fields hold no quote of its own kind, comment, backslash or brace within a string.

    Nearly all are such, and then neither brackets nor the colon of a specifier can change where a field ends.
    """
    own, other = quote[0], "'" if quote[0] == '"' else '"'
    newline = "" if len(quote) == 3 else r"\n"
    literal = rf"[^{own}\\{{}}{newline}]++|\\[^{{}}]|\{{\{{|\}}\}}"
    if len(quote) == 3:
        literal += rf"|{own}(?!{own}{own})"
    string = rf"{other}(?!{other})[^{{}}\"'#\\\n]*+{other}(?!{other})"
    inside = rf"(?:[^{{}}\"'#\\\n]++|{string})*"
    field = rf"\{{(?!\{{){inside}(?:\{{{inside}\}}{inside})*\}}"
    return re.compile(rf"{quote}(?:{literal}|{field})*{quote}", re.DOTALL)


_PLAIN_TEMPLATE = {quote: _plain_template(quote) for quote in _BODY}

_LITERAL_STOP = re.compile(r"""\\|["'{}\n]""")
_FIELD_STOP = re.compile(r"""[#"'()\[\]{}:]""")


_ON_ONE_LINE = str.maketrans("\n\f", "  ")


class _Literal(NamedTuple):
    """Reading characters: of a template itself, or of a format specifier inside it."""

    quote: str
    specifier: bool = False


class _Field:
    """Reading the expression of a replacement field, `depth` brackets deep."""

    __slots__ = ("depth", "literal")

    def __init__(self, literal: _Literal) -> None:
        self.literal = literal
        self.depth = 0


class _TemplateReader:
    """A stack machine, after CPython's tokenizer: literals hold fields, fields hold templates and specifiers."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.at = start
        self.stack: list[_Literal | _Field] = []
        self.code: list[str] = []
        self.shown = start
        """Offset up to which `code` is written."""
        self.code_start = start
        """Offset at which the code that is being read starts, while a field is on top of the stack."""

    def read(self) -> Template | None:
        quote = self.start
        while self.text[quote] not in "\"'":
            quote += 1
        self._open(quote)
        while self.stack:
            top = self.stack[-1]
            stop = (_LITERAL_STOP if isinstance(top, _Literal) else _FIELD_STOP).search(self.text, self.at)
            if not stop:
                return None
            self.at = stop.end()
            if isinstance(top, _Field):
                self._field(top, stop)
            elif not self._literal(top, stop):
                return None
        self.code.append("(" * (self.at - self.shown))
        return Template(self.at, "".join(self.code).translate(_ON_ONE_LINE))

    def _open(self, quote: int) -> None:
        """Enter a template."""
        mark = self.text[quote]
        mark = mark * 3 if self.text.startswith(mark * 3, quote) else mark
        self.stack.append(_Literal(mark))
        self.at = quote + len(mark)

    def _leave(self) -> None:
        """Finish what is on top of the stack; what is below a literal is a field."""
        self.stack.pop()
        self.code_start = self.at

    def _show(self, end: int) -> None:
        """Write the code that ends at `end`."""
        self.code += ("(" * (self.code_start - self.shown), self.text[self.code_start : end])
        self.shown = end

    def _literal(self, literal: _Literal, stop: re.Match[str]) -> bool:
        """Handle a character that may mean something in a literal; False where the template is broken off."""
        character, text = stop[0], self.text
        if character == "\\":
            # A brace keeps its meaning. What \N{...} names is read as if it were an expression: that ends it as well.
            if not text.startswith(("{", "}"), self.at):
                self.at += 1
        elif character == "{":
            if text.startswith("{", self.at) and not literal.specifier:
                self.at += 1
            else:
                self.stack.append(_Field(literal))
                self.code_start = self.at
        elif character == "}":
            if literal.specifier:
                del self.stack[-2:]
        elif character == "\n":
            if len(literal.quote) == 1:
                if not literal.specifier:
                    return False
                self._leave()
        elif text.startswith(literal.quote, stop.start()):
            if literal.specifier:
                return False
            self.at = stop.start() + len(literal.quote)
            self._leave()
        return True

    def _field(self, field: _Field, stop: re.Match[str]) -> None:
        """Handle a character that may mean something in an expression."""
        character = stop[0]
        if character in "([{":
            field.depth += 1
        elif character in ")]" or (character == "}" and field.depth):
            field.depth = max(0, field.depth - 1)
        elif character == "}":
            self._show(stop.start())
            self.stack.pop()
        elif character == ":":
            if not field.depth:
                self._show(stop.start())
                self.stack.append(field.literal._replace(specifier=True))
        else:
            self._token(stop.start())

    def _token(self, start: int) -> None:
        """Step over a comment or string, or enter a template."""
        end = token_end(self.text, start)
        prefix = prefix_start(self.text, start)
        self._show(prefix)
        if is_template(self.text[prefix:start]):
            self._open(start)
        else:
            self.code.append((" " if self.text[start] == "#" else '"') * (end - prefix))
            self.at = self.code_start = self.shown = end
