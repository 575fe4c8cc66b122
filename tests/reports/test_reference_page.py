"""The reference page as Markdown: whatever is declared, it shows rows and links, and nothing else."""

from __future__ import annotations

import re
from urllib.parse import unquote

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.declarations.values import Place
from analyzers.markdown.extractor import MarkdownExtractor
from analyzers.markdown.facts import MarkdownFacts
from analyzers.reference.page import Block, Page, PageRow, Section
from analyzers.source import Source
from reports.reference import render

HOSTILE = st.one_of(
    st.sampled_from(
        [
            "a|b",
            "a\\|b",
            "[x](y.md)",
            "<a href='z'>",
            "`",
            "``",
            "\\",
            "# H",
            "* x\n* y",
            "&amp;",
            "![i](j)",
            "\u202e",
            "\ud800",
        ]
    ),
    st.text(max_size=12),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=6,
)


def page_of(value: object, column: str = "name", title: str = "T", heading: str = "H", path: str = "a/b.py") -> Page:
    row = PageRow(Place(path, 7, 1), {column: value})
    block = Block("", (), Place(path, 3, 1), (column,), (row,))
    return Page("docs/page.md", title, [Section(heading, "table", "a.b.TABLE", "", (block,))])


def facts_of(text: str) -> MarkdownFacts:
    return MarkdownExtractor("github").extract(Source("docs/page.md", text))


def cell_of(value: object) -> str:
    """The first cell of the page's only row."""
    row = render(page_of(value)).splitlines()[-1]
    return row.removeprefix("| ").rpartition(" | ")[0]


@settings(max_examples=300, deadline=None)
@given(VALUES, HOSTILE, HOSTILE.filter(bool), HOSTILE.filter(bool))
def test_no_value_becomes_markup(value: object, column: str, title: str, heading: str) -> None:
    text = render(page_of(value, column, title, heading))
    facts = facts_of(text)

    assert [link.destination for link in facts.links] == ["../a/b.py#L3", "../a/b.py#L7"]
    assert len(re.findall("^#", text, re.MULTILINE)) == 2
    header, rule, row = text.splitlines()[-3:]
    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in (rule, row)] == [3, 3]
    assert header.endswith(" | Source |")


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).filter(lambda t: "/" not in t))
def test_a_link_leads_to_the_file_whatever_its_name(name: str) -> None:
    if name in (".", ".."):
        return
    links = facts_of(render(page_of("x", path=f"src/{name}"))).links

    assert [unquote(link.destination) for link in links] == [f"../src/{name}#L3", f"../src/{name}#L7"]


def test_what_is_stated_is_shown_as_words_names_and_numbers() -> None:
    assert cell_of(None) == cell_of("") == cell_of([]) == cell_of({}) == ""
    assert (cell_of(True), cell_of(False), cell_of(0)) == ("yes", "no", "0")
    assert cell_of("fp16") == "`fp16`"
    assert cell_of("a\\|b") == "<code>a\\\\\\|b</code>"
    assert cell_of("two\n words_") == "two words\\_"
    assert cell_of(["a", [1, 2], {"k": "v"}]) == "`a`, (1, 2), (k: `v`)"


def test_an_optional_table_that_is_not_there_is_named() -> None:
    page = Page("page.md", "T", [Section("MoE", "table", "a.moe.STAGES", "a/README.md", ())])

    assert render(page).splitlines()[-5:] == [
        "## MoE",
        "",
        "What it is for: [`a/README.md`](a/README.md).",
        "",
        "None declared yet: the source has no `a.moe.STAGES`.",
    ]


def test_owners_and_quoted_source_are_cut() -> None:
    paths = [f"p{number}" for number in range(6)]
    block = Block(
        "C", paths, Place("c.py", 1, 0), ("type",), (PageRow(Place("c.py", 2, 0), {"type": f"int | {'x' * 80}"}),)
    )
    text = render(Page("page.md", "T", [Section("S", "configuration", "", "", (block,))]))

    assert "owned as `p0`, `p1`, `p2`, `p3` and 2 more." in text
    assert f"| `int \\| {'x' * 71}...` |" in text
