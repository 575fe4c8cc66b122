"""What every source must survive, and what moving lines must not change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.environment.extractor import NamesExtractor, UsesExtractor
from analyzers.environment.mentions import Vocabulary
from analyzers.environment.uses import FileUses
from analyzers.source import Source

EXTRACTOR = UsesExtractor(("flag",), Vocabulary(("X_",), ("envs",)))
FRAGMENTS = st.sampled_from(
    [
        *("import os\n", "from os import environ as e, getenv\n", "def f(n):\n", "    return os.getenv(n)\n"),
        *('os.environ["X_A"]', "e.get(f'X_{n}')", "for n in ('X_A',):\n    ", "flag('X_B')", "class A:\n", "    "),
        *("(", ")", '"', "'", "\\", "\n", "#", "é", "envs.X_C", "lambda n: ", "= ", "os", " if ", "**os.environ", "*/"),
        *("getenv(", "#define F(x) getenv(#x)\n", "//", "/*", 'R"(', "{", "}", ",", "self.k = os.environ\n"),
    ]
)


def read(text: str, path: str = "a.py") -> FileUses:
    return FileUses.from_json(json.loads(json.dumps(EXTRACTOR.extract(Source(path, text)))))


@pytest.mark.parametrize("path", ["a.py", "a.cu"])
@given(parts=st.lists(FRAGMENTS, max_size=24))
def test_no_text_is_too_odd(path: str, parts: list[str]) -> None:
    read("".join(parts), path)


@given(blank=st.integers(0, 5))
def test_blank_lines_move_uses_and_change_nothing_else(blank: int) -> None:
    text = "import os\n\n\ndef flag(n):\n    return os.getenv(n)\n\n\nflag('X_A')\nos.environ['X_B']\n"
    moved = read("\n" * blank + text)
    assert [use._replace(line=use.line - blank) for use in moved.uses] == list(read(text).uses)


@pytest.mark.parametrize(
    "value",
    ['os.environ["X_A"]' + ' + "a"' * 3000, "(" * 300 + 'os.environ["X_A"]' + ")" * 300],
    ids=["many terms", "many brackets"],
)
def test_a_statement_that_is_too_deep_is_reported(value: str) -> None:
    found = read(f"import os\n\nname = {value}\n")
    assert (list(found.uses), list(found.unread)) == ([], [3])


def test_one_statement_that_is_too_deep_does_not_hide_the_others() -> None:
    deep = "(" * 300 + 'os.environ["X_A"]' + ")" * 300
    found = read(f"import os\nname = {deep}\nos.getenv('X_B')\n")
    assert ([use.name for use in found.uses], list(found.unread)) == (["X_B"], [2])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "import os\ndef f(n):\n    os.getenv(n)\n    f(n + 'x')\n    f('y' + n)\nf('X_A')\n"),
        ("a.py", "import os\n" + "k = k + j + i\nj = k or i\ni = j + k\n" * 9 + "os.getenv(k)\n"),
        ("a.py", "import os\ndef f(n):\n" + "    n = n.next\n    n = n.up\n" * 40 + "    return n.get(os.environ)\n"),
        (
            "a.py",
            "import os\nN = {'a' + str(i) for i in X}\n"
            + "".join(f"K{i} = K{i + 1}\n" for i in range(900))
            + "os.getenv(K0)\n",
        ),
        ("a.cpp", 'auto r = R"x(' * 20_000 + 'getenv("X_A");'),
        ("a.cpp", "getenv(" * 20_000),
        ("a.cpp", "void f(const char *n) { getenv(n); }\n" * 200 + 'f("X_A");' * 20),
    ],
    ids=[
        "growing name",
        "circular names",
        "linked list",
        "long chain",
        "open raw strings",
        "open calls",
        "many functions",
    ],
)
def test_it_ends_soon(path: str, text: str) -> None:
    assert read(text, path) == read(text, path)


def test_mentions_know_their_context() -> None:
    text = (
        "envs.X_A.get()\nother.X_B\nflag('X_C')\n{'X_D': 1}\n'see X_E'\n# X_F\nX_G = 1\n"
        "envs.FOREIGN\nMY_X_H = 1\nflag(\n    'X_I',\n)\n"
    )
    assert [(m.name, m.context, m.line) for m in read(text).mentions] == [
        ("X_A", "envs.", 1),
        ("X_B", "other.", 2),
        ("X_C", "flag(", 3),
        ("X_D", "", 4),
        ("X_G", "", 7),
        ("X_I", "flag(", 11),
        ("FOREIGN", "envs.", 8),
    ]


@pytest.mark.parametrize(
    ("statement", "effect"),
    [
        ("os.environ.pop('X_A', None)", "delete"),
        ("os.environ.setdefault('X_A', '1')", "write"),
        ("old = os.environ.pop('X_A', None)", "read+delete"),
        ("print(os.environ.setdefault('X_A', '1'))", "read+write"),
        ("os.environ['X_A']", "read"),
        ("os.environ['X_A'] += '1'", "read+write"),
        ("def drop(name):\n    os.environ.pop(name)\nx = drop('X_A')", "delete"),
        ("def drop(name):\n    return os.environ.pop(name)\ndrop('X_A')", "read+delete"),
    ],
)
def test_what_nobody_takes_is_not_read(statement: str, effect: str) -> None:
    uses = read(f"import os\n{statement}\n").uses
    assert {use.name: (use.effect, use.reads) for use in uses} == {"X_A": (effect, effect.startswith("read"))}


def test_a_wrapper_is_known_to_other_files() -> None:
    assert read("import os\ndef get(name, default=None):\n    return os.getenv(name, default)\n").wrappers == ["get"]
    assert read("import os\ndef get(default, name):\n    return os.getenv(name, default)\n").wrappers == []


def test_names_in_documents() -> None:
    text = "Set `X_A`, X_B=1 and X_A again.\n\nAll of `X_*` and X_C_* are ours; MY_X_D and X_e are not.\n"
    assert NamesExtractor(("X_",)).extract(Source("a.md", text)) == [("X_A", 1), ("X_B", 1)]
