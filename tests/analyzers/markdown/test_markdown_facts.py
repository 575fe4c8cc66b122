import json
import pickle
from pathlib import Path

import pytest

from analyzers.markdown.extractor import MarkdownExtractor, is_markdown
from analyzers.markdown.facts import Link, MarkdownFacts
from analyzers.markdown.parser import parse
from analyzers.source import Source

CASES = Path(__file__).parents[2] / "cases"
ANCHORS = [
    case for name in ("anchors.json", "own_anchors.json") for case in json.loads((CASES / name).read_text("utf-8"))
]


def facts(text: str, dialect="github") -> MarkdownFacts:
    return MarkdownExtractor(dialect).extract(Source("a.md", text))


def links(text: str, dialect="github") -> list[tuple]:
    return [tuple(link) for link in facts(text, dialect).links]


@pytest.mark.parametrize("case", ANCHORS, ids=lambda case: case["id"])
def test_anchors(case):
    assert facts(case["markdown"], case["dialect"]).anchors == case["anchors"]


def test_a_target_is_kept_as_written_beside_what_it_means():
    assert links("[x](<a b.md> 't') [y](c\\_d.md) [z](e&amp;f.md) [w](g%20h.md)\n") == [
        ("a b.md", "a b.md", 1, 1, "link"),
        ("c\\_d.md", "c_d.md", 1, 19, "link"),
        ("e&amp;f.md", "e&f.md", 1, 32, "link"),
        ("g%20h.md", "g%20h.md", 1, 48, "link"),
    ]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[x](par(en).md)", ["par(en).md"]),
        ("[x](  a.md  )", ["a.md"]),
        ("[x](\na.md\n'title')", ["a.md"]),
        ("[](a.md) ![](b.png)", ["a.md", "b.png"]),
        ("[a](b.md 'a](c.md') [d](e.md)", ["b.md", "e.md"]),
        ("[a `](no.md)` b](yes.md)", ["yes.md"]),
        ("[a \\](no.md) b](yes.md)", ["yes.md"]),
        ("[x](<a\\>b.md>)", ["a\\>b.md"]),
        ("[x](a\\_(b)\\).md 't')", ["a\\_(b)\\).md"]),
        ("[x](a&amp;\\&amp;.md)", ["a&amp;\\&amp;.md"]),
        ("[a\\]: b]: c\\_d.md", ["c\\_d.md"]),
        ("<img srcset='a.png 1x, a.png 2x'>", ["a.png", "a.png"]),
        ("[![n](x.png)](y.md)", ["y.md", "x.png"]),
        ("[x](a.md) and [x](a.md)", ["a.md", "a.md"]),
        ("[l\\]: x]: a.md", ["a.md"]),
        ("[a]: <b c.md>\n[d]: e.md (t)", ["b c.md", "e.md"]),
    ],
)
def test_targets_and_their_places(text, targets):
    found = parse(text, "github").links
    assert [link.target for link in found] == targets
    assert [text[link.target_start : link.target_end] for link in found] == targets
    assert len({link.target_start for link in found}) == len(found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[x](a)", "link"),
        ("<https://a.invalid>", "link"),
        ("![x](a)", "image"),
        ("<img src=a>", "image"),
        ("<a href='a'>", "html"),
        ("<video poster=a>", "html"),
        ("[r]: a", "definition"),
    ],
)
def test_kinds(text, kind):
    assert [link.kind for link in facts(text).links] == [kind]


def test_a_reference_is_listed_once_at_its_definition():
    assert links("[x][r] [r] ![y][r]\n\n> [r]: a.md\n") == [("a.md", "a.md", 3, 3, "definition")]


@pytest.mark.parametrize(
    "text",
    [
        "![alt [in](no.md)](x.png)",
        "![alt ![in](no.png)](x.png)",
        "![alt <https://no.invalid>](x.png)",
        "![alt <img src=no.png><a id=no>](x.png)",
        "![alt [in][r]](x.png)",
    ],
)
def test_only_the_text_of_an_images_description_is_shown(text):
    read = facts(text)
    assert [link.target for link in read.links] == ["x.png"]
    assert read.anchors == []


def test_an_address_is_no_path():
    assert facts("<a@b.invalid>").links == [Link("a@b.invalid", "mailto:a@b.invalid", 1, 1, "link")]


def test_columns_count_characters():
    assert links("日本 é [x](a.md)\n")[0][2:4] == (1, 6)


def test_html_in_a_quote_has_its_own_line():
    text = "> <div>\n> <a href='x.md'>\n>   <img src='é.png'>\n> </div>\n"
    assert links(text) == [
        ("x.md", "x.md", 2, 3, "html"),
        ("é.png", "é.png", 3, 5, "image"),
    ]


def test_html_values_are_decoded():
    assert links('<a href="a.md?x=1&amp;y=2">\n')[0][:2] == ("a.md?x=1&y=2", "a.md?x=1&y=2")


def test_a_data_url_in_srcset_is_not_split():
    assert links('<img srcset="data:image/png;base64,AAAA 1x, b.png 2x">') == []


@pytest.mark.parametrize("text", ["--8<-- 'a.md'", "{{ macro() }}", "{% include 'x' %}", "::: pkg.module"])
def test_generated_content_leaves_the_anchors_open_in_mkdocs(text):
    assert not facts(text, "mkdocs").complete
    assert facts(text, "github").complete
    assert facts(f"`{text}`\n\n    {text}\n", "mkdocs").complete


def test_a_tab_keeps_places():
    text = '=== "Über"\n\n    Text [x](a.md)\n\n=== "B"\n\n    - [y](b.md)\n'
    assert links(text, "mkdocs") == [
        ("a.md", "a.md", 3, 10, "link"),
        ("b.md", "b.md", 7, 7, "link"),
    ]


def test_facts_survive_json():
    before = facts("# A\n\n[x](a.md)\n")
    assert MarkdownFacts.from_json(json.loads(json.dumps(before))) == before


def test_the_extractor_is_a_value():
    extractor = MarkdownExtractor("mkdocs")
    assert pickle.loads(pickle.dumps(extractor)) == extractor
    assert extractor.kind != MarkdownExtractor("github").kind


@pytest.mark.parametrize(
    ("path", "expected"), [("a.md", True), ("A.MD", True), ("a.markdown", True), ("a.mdx", False), ("md", False)]
)
def test_is_markdown(path, expected):
    assert is_markdown(path) is expected
