"""The lexer on what no older `ast` reads, on broken files and on hostile ones."""

from __future__ import annotations

import random

import pytest

from analyzers.python.lexer import Lexed, Scope, lex


def strings_of(text: str) -> list[str]:
    return [text[start:end] for start, end in lex(text).strings]


def comments_of(text: str) -> list[str]:
    return [text[start:end] for start, end in lex(text).comments]


# PEP 701 and PEP 750: each right-hand side lists the literals, written by hand.
TEMPLATES = {
    'f"{x["#"]}"': ['f"{x["#"]}"'],
    "f\"{'}'}\"": ["f\"{'}'}\""],
    "f'{'}'}' + 'a'": ["f'{'}'}'", "'a'"],
    'f"{f"{f"{1}"}"}" "b"': ['f"{f"{f"{1}"}"}"', '"b"'],
    'f"{{" "}}"': ['f"{{"', '"}}"'],
    'f"{{{x["a"]}}}"': ['f"{{{x["a"]}}}"'],
    'f"{x:{{"w"}}}"': ['f"{x:{{"w"}}}"'],
    'f"{x:{"w"}}"': ['f"{x:{"w"}}"'],
    'f"{x:{y:{"z"}}}" ""': ['f"{x:{y:{"z"}}}"', '""'],
    'f"{x:#06x}" # c': ['f"{x:#06x}"'],
    "f\"{x:'^10}\" 'a'": ['f"{x:\'^10}"', "'a'"],
    "f\"{x:'}'\" 'a'": ["f\"{x:'}'\"", "'a'"],
    'f"{ {"a": 1}["a"] }"': ['f"{ {"a": 1}["a"] }"'],
    'f"{[c for c in "}{"]}"': ['f"{[c for c in "}{"]}"'],
    'f"{(lambda x: "}")(1)}"': ['f"{(lambda x: "}")(1)}"'],
    'f"{x[1:2]:>{n}}"': ['f"{x[1:2]:>{n}}"'],
    'f"{x!r:{"w"}}"': ['f"{x!r:{"w"}}"'],
    'f"{x=}"; "a"': ['f"{x=}"', '"a"'],
    'f"{x\n}" "b"': ['f"{x\n}"', '"b"'],
    'f"{x # " }\n}" "b"': ['f"{x # " }\n}"', '"b"'],
    'f"{"\\n".join(a)}" "b"': ['f"{"\\n".join(a)}"', '"b"'],
    'f"\\N{QUOTATION MARK}{x["a"]}"': ['f"\\N{QUOTATION MARK}{x["a"]}"'],
    'rf"\\N{x["a"]}"': ['rf"\\N{x["a"]}"'],
    'f"\\{x["a"]}"': ['f"\\{x["a"]}"'],
    'rf"\\{x["a"]}\\""': ['rf"\\{x["a"]}\\""'],
    'f"\\"{x}" "b"': ['f"\\"{x}"', '"b"'],
    'f"""{x["""a"""]}""" "b"': ['f"""{x["""a"""]}"""', '"b"'],
    'f"""{\nx  # """\n}""" "b"': ['f"""{\nx  # """\n}"""', '"b"'],
    'f"""{x:\n>3}\n""" "b"': ['f"""{x:\n>3}\n"""', '"b"'],
    'f"""a"b""{x}"""': ['f"""a"b""{x}"""'],
    "f'''{f\"{'a'}\"}'''": ["f'''{f\"{'a'}\"}'''"],
    'f"{b"a"[0]}{r"\\\\"}"': ['f"{b"a"[0]}{r"\\\\"}"'],
    't"{x["#"]}" "b"': ['t"{x["#"]}"', '"b"'],
    'rT"{x}{y["a"]}"': ['rT"{x}{y["a"]}"'],
    'FR"{x["a"]}"': ['FR"{x["a"]}"'],
    'bf"{x}"': ['"{x}"'],
    'éf"{x["a"]}"': ['"{x["', '"]}"'],
    'x if"{"else"}"': ['"{"', '"}"'],
}


@pytest.mark.parametrize(("text", "literals"), TEMPLATES.items())
def test_template_ends_where_its_last_quote_stands(text: str, literals: list[str]) -> None:
    assert strings_of(text) == literals


def test_comment_in_a_replacement_field_belongs_to_the_string() -> None:
    assert comments_of('f"{x # a\n}" # b') == ["# b"]


LITERALS = {
    r"r'\'' 'a'": [r"r'\''", "'a'"],
    r"'\\' 'a'": [r"'\\'", "'a'"],
    "'a\\\nb' 'c'": ["'a\\\nb'", "'c'"],
    '"""a"b""c\\"""d""" ""': ['"""a"b""c\\"""d"""', '""'],
    "''''a''' ''": ["''''a'''", "''"],
    'Rb"a" bR"b" u"c" BR\'d\'': ['Rb"a"', 'bR"b"', 'u"c"', "BR'd'"],
    'ub"a"': ['"a"'],
    'x["a"]or"b"': ['"a"', '"b"'],
    '# "\n"a"': ['"a"'],
    '"#" # "': ['"#"'],
}


@pytest.mark.parametrize(("text", "literals"), LITERALS.items())
def test_literal_has_its_prefix_and_ends_at_its_quote(text: str, literals: list[str]) -> None:
    assert strings_of(text) == literals


BROKEN = {
    "'abc\nx = 'd'": ["'abc", "'d'"],
    '"""abc\nx = 1': ['"""abc\nx = 1'],
    'f"{x\ny = "a"\n': ['f"{x', '"a"'],
    'f"{"a"\nf"{b}"\n': ['f"{"', '"', 'f"{b}"'],
    "'": ["'"],
    "'\\": ["'"],
    'f"': ['f"'],
    'f"{': ['f"{'],
    'f"{x:': ['f"{x:'],
    'f"\\N{': ['f"\\N{'],
}


@pytest.mark.parametrize(("text", "literals"), BROKEN.items())
def test_open_literal_ends_with_its_line_or_file(text: str, literals: list[str]) -> None:
    assert strings_of(text) == literals


LAYOUT = {
    "f(\n  1,  # c\n)\nx\n": "f(   1,      )\nx\n",
    "x = 1 + \\\n  2\n": "x = 1 +     2\n",
    "x = '''a\nb'''\n": 'x = """""""""\n',
    "if x:\n\\\n  y\n": "if x:  \n  y\n",
    "if x:\n  \\\n    y\n": "if x:      \n  y\n",
    "if x:\n    \f  y\n": "if x:     \n  y\n",
    "\f\nx\n": "\n\nx\n",
    "# a \\\nx\n": "     \nx\n",
    "x)\ny\n": "x)\ny\n",
    "(x\ny\n": "(x y ",
}


@pytest.mark.parametrize(("text", "code"), LAYOUT.items())
def test_code_has_one_logical_line_a_line(text: str, code: str) -> None:
    assert lex(text).code == code


SAMPLE = """#!/bin/sh
'module'
class A:
    r'''class
    doc'''
    x: str = 'no doc'  # é
    def f(self): 'one line'
"""


def test_code_scope_leaves_out_comments_and_docstrings() -> None:
    kept = lex(SAMPLE).masked("code").split()
    assert kept == ["class", "A:", "x:", "str", "=", "'no", "doc'", "def", "f(self):"]


def test_comments_scope_keeps_only_comments_and_docstrings() -> None:
    kept = lex(SAMPLE).masked("comments").split()
    assert kept == ["#!/bin/sh", "'module'", "r'''class", "doc'''", "#", "é", "'one", "line'"]


def test_text_scope_is_the_text() -> None:
    assert lex(SAMPLE).masked("text") == SAMPLE


def test_every_character_is_in_one_of_the_two_scopes() -> None:
    lexed = lex(SAMPLE)
    both = zip(lexed.masked("code"), lexed.masked("comments"), strict=True)
    assert "".join(prose if code.isspace() else code for code, prose in both) == SAMPLE


def test_position_counts_characters_from_one() -> None:
    lexed = lex("é = 'ü'\n\nx")
    places = [lexed.position(offset) for offset in (0, 4, 7, 8, 9, 10)]
    assert places == [(1, 1), (1, 5), (1, 8), (2, 1), (3, 1), (3, 2)]


FRAGMENTS = [
    *("'", '"', "'''", '"""', "f'", 'f"', "rb'", 'f"""', "{", "}", "{{", "(", ")", "[", "]", ":", "#", "\\", "\\\n"),
    *("\n", "    ", "\t", "\f", "x", "é", "._y", "def f", "class C", "import a", "from . import b", "try:", "lambda"),
    *("if TYPE_CHECKING:", "else:", "except:", ";", "\x00", "\u2028", "import_module('a')", "N{", "=", "__getattr__"),
]


def garbage(seed: int) -> str:
    source = random.Random(seed)
    return "".join(source.choice(FRAGMENTS) for _ in range(source.randrange(60)))


def is_sound(lexed: Lexed) -> bool:
    """Spans lie in order within the text, and `code` fills each of them."""
    spans = sorted(lexed.strings + lexed.comments)
    bounds = [0, *(offset for span in spans for offset in span), len(lexed.text)]
    filled = all(set(lexed.code[start:end]) <= {'"', " ", "\n"} for start, end in spans)
    return bounds == sorted(bounds) and filled and len(lexed.code) == len(lexed.text)


@pytest.mark.parametrize("seed", range(0, 3000, 500))
def test_any_text_gives_a_sound_answer(seed: int) -> None:
    unsound = [number for number in range(seed, seed + 500) if not is_sound(lex(garbage(number)))]
    assert unsound == []


@pytest.mark.parametrize("scope", ["code", "comments"])
def test_masking_any_text_keeps_its_lines(scope: Scope) -> None:
    for text in map(garbage, range(500)):
        masked = lex(text).masked(scope)
        assert [len(line) for line in masked.split("\n")] == [len(line) for line in text.split("\n")]
