"""What must hold for any text; markdown-it-py, another CommonMark parser, is the oracle."""

from urllib.parse import unquote

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from analyzers.markdown.extractor import MarkdownExtractor
from analyzers.markdown.parser import parse
from analyzers.source import Source

ORACLE = MarkdownIt("commonmark").enable(["table", "strikethrough"])

PIECES = st.sampled_from(
    [
        *("a", "b.md", "é", "日本", " ", "  ", "\n", "\n\n", "*", "**", "`", "\\", "&amp;", "#", "# ", "## "),
        *("> ", "- ", "1. ", "    ", "\t", "[", "]", "(", ")", "![", "](", "](x.md)", "](<y z.md> 't')"),
        *("[r]", "[r]: r.md\n", "<", ">", "<b>", "</b>", "<!-- ", " -->", "```\n", "---\n", "===\n", "|"),
        *("<a href='h.md'>", "<img src=i.png>", "<a id=j></a>", "'", '"', ":", "{#k}", "[^1]", "<https://e.invalid>"),
        *('=== "T"\n', "!!! note\n", "\r\n", "\r", "\0", "\ufeff", "<![x", "<script>", "\ud800", "\u2028"),
    ]
)
DOCUMENTS = st.lists(PIECES, max_size=40).map("".join)
CLEAN = st.lists(
    st.sampled_from(
        [
            *("word", "é", " ", "\n", "\n\n", "*em*", "`code`", "\\[", "&amp;", "# ", "> ", "- ", "    "),
            *("[t](a.md)", "[t](<b c.md>)", '[t](d.md "t")', "![i](e.png)", "[![i](f.png)](g.md)", "[t](h(i).md)"),
            *(
                "[r]",
                "[t][r]",
                "```\n",
                "[t](j\\_k.md)",
                "![u [v](n.md)](o.png)",
                "<https://e.invalid/>",
                "[*t* `]`](l.md)",
                "[t]( m.md )",
            ),
        ]
    ),
    max_size=25,
).map("".join)


def oracle_links(text: str) -> list[tuple[str, str]]:
    found = []
    for token in ORACLE.parse(text):
        for child in token.children or []:
            if child.type == "link_open":
                found.append(("link", unquote(str(child.attrs["href"]))))
            elif child.type == "image":
                found.append(("image", unquote(str(child.attrs["src"]))))
    return found


@settings(max_examples=400, deadline=None, derandomize=True)
@given(CLEAN)
def test_links_are_those_of_another_parser(text):
    found = [(link.kind, unquote(link.destination)) for link in parse(text, "github").links]
    assert found == oracle_links(text)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(DOCUMENTS, st.sampled_from(["github", "mkdocs"]))
def test_any_text_is_a_document_and_every_place_lies_in_it(text, dialect):
    document = parse(text, dialect)
    for link in document.links:
        assert 0 <= link.start < len(text)
        if link.target_start >= 0:
            assert text[link.target_start : link.target_end].replace("\ud800", "?") == link.target


@settings(max_examples=300, deadline=None, derandomize=True)
@given(DOCUMENTS, st.integers(1, 5), st.sampled_from(["github", "mkdocs"]))
def test_blank_lines_above_move_links_and_change_nothing_else(text, count, dialect):
    extractor = MarkdownExtractor(dialect)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    text = f"Title\n\n{text}"
    before = extractor.extract(Source("a.md", text))
    after = extractor.extract(Source("a.md", "\n" * count + text))
    assert after.anchors == before.anchors
    assert [link._replace(line=link.line - count) for link in after.links] == before.links


@settings(max_examples=200, deadline=None, derandomize=True)
@given(CLEAN)
def test_links_do_not_depend_on_newlines_and_byte_order_mark(text):
    plain = parse(text, "github")
    windows = parse("\ufeff" + text.replace("\n", "\r\n"), "github")
    assert [link[:3] for link in windows.links] == [link[:3] for link in plain.links]
