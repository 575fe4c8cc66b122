import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.doclinks.fixes import apply_edits, plan_fixes
from analyzers.doclinks.links import find_broken_links
from analyzers.doclinks.policy import DocsPolicy

EVERYWHERE = DocsPolicy(maintained=("**/*.md",))


def nowhere_else(path):
    """A root without a repository."""


@pytest.fixture(scope="session")
def fix(read_documents):
    """The tree after its fixes."""

    def fix(files, policy=EVERYWHERE):
        edits = plan_fixes(policy, files, read_documents(policy, files), files.get, nowhere_else)
        return {path: apply_edits(text, [e for e in edits if e.path == path]) for path, text in files.items()}

    return fix


@pytest.mark.parametrize(
    ("before", "after", "others"),
    [
        ("[x](install.md)", "[x](docs/install.md)", ["docs/install.md"]),
        ("[x](docs/instal.md#L1 'title')", "[x](docs/install.md#L1 'title')", ["docs/install.md"]),
        ("![x](Logo.PNG?raw=true)", "![x](logo.png?raw=true)", ["logo.png"]),
        ("[x](docs\\b.md)", "[x](docs/b.md)", ["docs/b.md"]),
        ("[x](b.md/)", "[x](b.md)", ["b.md"]),
        ("[r]: <instal me.md> 't'", "[r]: <install me.md> 't'", ["install me.md"]),
        ("[x](instal%20me.md)", "[x](install%20me.md)", ["install me.md"]),
        ("[x](d/a%20c.md)", "[x](d/a%20b.md)", ["d/a b.md"]),
        ("[x](api.md)", "[x](app.md)", ["app.md"]),
        ("[x](pärt-on.md)", "[x](pärt-one.md)", ["pärt-one.md"]),
        ("[x](p%C3%A4rt-on.md)", "[x](p%C3%A4rt-one.md)", ["pärt-one.md"]),
        ("[x](name.md)", "[x](a%20%28b%29/name.md)", ["a (b)/name.md"]),
        ("<a href='install.md'><img src=instal.md></a>", None, ["docs/install.md"]),
        ("<img srcset='a.png 1x, c/b.png 2x'>", "<img srcset='a.png 1x, d/b.png 2x'>", ["a.png", "d/b.png"]),
        ("<img alt='b.png' src='b.png'>", "<img alt='b.png' src='d/b.png'>", ["d/b.png"]),
        ("# Set up\n[x](#setup)", "# Set up\n[x](#set-up)", []),
        ("# Set up\n[x](#Set-Up)", "# Set up\n[x](#set-up)", []),
        ("# Über uns\n[x](#%C3%BCber-un)", "# Über uns\n[x](#%C3%BCber-uns)", []),
    ],
)
def test_a_link_with_one_close_target_is_renamed(before, after, others, fix):
    if after is None:
        after = before.replace("'install.md'", "'docs/install.md'")
    files = {"a.md": before, **dict.fromkeys(others, "one line\n")}
    assert fix(files)["a.md"] == after


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("[x](gone.md)", ["zebra.md"]),
        ("[x](b.md)", ["c/b.md", "d/b.md"]),
        ("[x](B.md)", ["c/b.md"]),
        ("[x](pages.md)", ["page.md", "pagess.md"]),
        ("[x](step-3.md)", ["step-2.md"]),
        ("[x](ab.md)", ["ac.md"]),
        ("[x](cpu.md)", ["gpu.md"]),
        ("[x](b1.md)", ["b2.md"]),
        ("[x](d/a%20c.md)", ["d/a b.md", "d/a d.md"]),
        ("![x](logo.pgn)", ["logo.png"]),
        ("`[x](b.md)`\n\n    [x](b.md)\n\n```\n[x](b.md)\n```", ["c/b.md"]),
        ("<!-- [x](b.md) <a href='b.md'> -->", ["c/b.md"]),
        ("[x](b&#46;md)", ["c/b.md"]),
        ("# Parts\n# Party\n[x](#part)", []),
        ("[x](c.py#L9)", ["c.py"]),
        ("[x](../b.md)", ["b.md"]),
    ],
)
def test_what_is_not_certain_is_left_alone(text, others, fix):
    files = {"a.md": text, **dict.fromkeys(others, "x\n")}
    assert fix(files)["a.md"] == text


def test_a_link_to_what_lies_beside_the_tree_is_left_alone(read_documents):
    files = {"a.md": "[x](../b.md)", "c/b.md": ""}
    documents = read_documents(EVERYWHERE, files)
    assert plan_fixes(EVERYWHERE, files, documents, files.get, lambda path: False) == []


def test_path_and_fragment_are_put_right_together(fix):
    files = {"a.md": "[x](guide.md#setup)", "docs/guide.md": "# Set up\n"}
    assert fix(files)["a.md"] == "[x](docs/guide.md#set-up)"


def test_everything_else_is_preserved(fix):
    files = {"a.md": "\ufeff# Ü\r\n\r\n> [日本](b.md)\r\n> ![é](B.png)  \r\n", "c/b.md": "", "b.png": ""}
    assert fix(files)["a.md"] == "\ufeff# Ü\r\n\r\n> [日本](c/b.md)\r\n> ![é](b.png)  \r\n"


def test_the_manner_of_a_path_is_kept(fix):
    files = {"d/a.md": "[x](./b.md) [y](/e.md)", "d/c/b.md": "", "f/e.md": ""}
    assert fix(files)["d/a.md"] == "[x](./c/b.md) [y](/f/e.md)"


def test_a_document_that_cannot_be_read_again_is_left_alone(read_documents):
    files = {"a.md": "[x](b.md)", "c/b.md": ""}
    assert plan_fixes(EVERYWHERE, files, read_documents(EVERYWHERE, files), lambda path: None, nowhere_else) == []


NAMES = st.sampled_from(
    ["a b", "c(d", "e%20f", "g&amp;h", "i#j", "k?l", "é", "日本", "m'n", 'o"p', "q`r", "s|t", "u:v", "{w}", "x\\y", "z"]
)
STYLES = st.sampled_from(
    ["[x](%s)", "[x](<%s>)", "[r]: %s", '<a href="%s">', "![x](%s 't')", "| h |\n|---|\n| [x](%s) |"]
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(NAMES, NAMES, STYLES, STYLES)
def test_a_fix_holds_and_a_second_one_changes_nothing(read_documents, fix, folder, name, style, other_style):
    files = {"a.md": f"{style % 'Target.md'}\n\n{other_style % 'other.md'}\n", f"{folder}/target.md": ""}
    files |= {f"{folder}/{name}/other.md": "", f"{folder}/Target.md": ""}
    fixed = fix(files)
    assert fixed["a.md"] != files["a.md"]
    assert find_broken_links(EVERYWHERE, fixed, read_documents(EVERYWHERE, fixed), fixed.get, nowhere_else) == []
    assert fix(fixed) == fixed
