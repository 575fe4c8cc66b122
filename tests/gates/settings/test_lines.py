"""Where keys stand in a TOML text."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gates.settings.lines import Key, key_lines, line_of

TEXT = '''\
# [not.a.table]
top = """
[nor.this]
"""   # a comment
"quoted key".dotted = 1

[a.b]
list = [
  "x", # ]
  { inner = 1 },
]
[[a.rows]]
name = "first"

[[a.rows]]
name = "second"
[a.rows.detail]
deep = true
[[a.rows.parts]]
part = 1
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("top",), 2),
        (("quoted key", "dotted"), 5),
        (("a",), 7),
        (("a", "b"), 7),
        (("a", "b", "list"), 8),
        (("a", "b", "list", 1, "inner"), 8),
        (("a", "rows", 0), 12),
        (("a", "rows", 0, "name"), 13),
        (("a", "rows", 1, "name"), 16),
        (("a", "rows", 1, "detail", "deep"), 18),
        (("a", "rows", 1, "parts", 0, "part"), 20),
    ],
)
def test_each_key_has_the_line_it_is_written_on(key: Key, line: int) -> None:
    assert key_lines(TEXT)[key] == line


def test_a_key_that_is_not_written_has_the_line_of_its_table() -> None:
    lines = key_lines(TEXT)
    assert line_of(("a", "rows", 1, "owner"), lines) == 15
    assert line_of(("z", "y"), lines) == 0


def paths(value: object, above: Key = ()) -> set[Key]:
    found = {above} if above else set()
    if isinstance(value, dict):
        return found.union(*(paths(inner, (*above, name)) for name, inner in value.items()))
    if isinstance(value, list):
        return found.union(*(paths(inner, (*above, i)) for i, inner in enumerate(value)))
    return found


STATEMENTS = {
    "[t{i}]": 1,
    "[t{i}.sub]": 1,
    "[[rows]]": 1,
    "[[rows.inner]]": 1,
    "k{i} = [\n 1,\n [2]]": 3,
    "k{i} = '''\n[x]\n'''": 3,
    "k{i}.d = {{ x = [1] }}": 1,
    "# k = 1": 1,
    "": 1,
}


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(sorted(STATEMENTS)), max_size=12))
def test_every_path_of_the_document_is_placed_and_no_other(statements: list[str]) -> None:
    text = "[[rows]]\n" + "\n".join(s.format(i=i) for i, s in enumerate(statements))
    assert key_lines(text).keys() == paths(tomllib.loads(text))
