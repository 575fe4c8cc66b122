from __future__ import annotations

import pytest

from analyzers.decoding import decode
from analyzers.source import Problem


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("s = 'ü'\n".encode(), "s = 'ü'\n"),
        (b"# -*- coding: latin-1 -*-\ns = '\xfc'\n", "# -*- coding: latin-1 -*-\ns = 'ü'\n"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\ns = '\x80'\n", "s = '€'\n"),
        (b"x = 1\n# coding: latin-1\ns = '\xc3\xbc'\n", "ü"),
    ],
)
def test_text_is_what_python_reads(data: bytes, text: str) -> None:
    decoded = decode("a.py", data)

    assert isinstance(decoded, str)
    assert decoded == text if data == b"" else text in decoded


@pytest.mark.parametrize(
    ("path", "data", "line"),
    [
        ("a.py", b"x = 1\ny = '\xff'\n", 2),
        ("a.md", b"# coding: latin-1\n\n\xe9\n", 3),
        ("a.py", b"# coding: klingon\n", 1),
        ("a.py", b"# coding: rot13\n", 1),
    ],
)
def test_what_cannot_be_decoded_is_a_problem_with_its_line(path: str, data: bytes, line: int) -> None:
    problem = decode(path, data)

    assert isinstance(problem, Problem)
    assert (problem.rule, problem.line) == ("SRC003", line)
