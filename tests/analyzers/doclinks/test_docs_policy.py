import pytest

from analyzers.doclinks.policy import DocsPolicy, FolderPolicy, dialect_of, site_root
from analyzers.doclinks.targets import Target, is_repository_page, levels_above, line_range, local_target, within

POLICY = DocsPolicy(
    folders={
        "docs": FolderPolicy(dialect="mkdocs"),
        "./docs/github/": FolderPolicy(dialect="github"),
        ".github": FolderPolicy(dialect="mkdocs"),
    }
)


@pytest.mark.parametrize(
    ("path", "dialect", "root"),
    [
        ("README.md", "github", ""),
        ("docs/a.md", "mkdocs", "docs"),
        ("docs/b/a.md", "mkdocs", "docs"),
        ("docs/github/a.md", "github", ""),
        ("docs-old/a.md", "github", ""),
        (".github/a.md", "mkdocs", ".github"),
        ("github/a.md", "github", ""),
    ],
)
def test_the_longest_folder_decides(path, dialect, root):
    assert (dialect_of(POLICY, path), site_root(POLICY, path)) == (dialect, root)


def test_the_root_may_be_a_folder_of_the_settings():
    policy = DocsPolicy(folders={".": FolderPolicy(dialect="mkdocs"), "a": FolderPolicy(dialect="github")})
    assert [dialect_of(policy, path) for path in ("x.md", "a/x.md")] == ["mkdocs", "github"]


def test_mkdocs_takes_docs_for_its_root_where_no_folder_is_named():
    policy = DocsPolicy(dialect="mkdocs")
    assert [site_root(policy, path) for path in ("docs/a/b.md", "README.md")] == ["docs", ""]


@pytest.mark.parametrize(
    ("destination", "target"),
    [
        ("a%20b.md?x#%C3%BC", Target("a b.md", "x", "ü")),
        ("#a?b", Target("", "", "a?b")),
        ("a%23b", Target("a#b", "", "")),
        ("mailto:a@b.invalid", None),
        ("//host/a", None),
        ("{{ x }}/a", None),
    ],
)
def test_local_target(destination, target):
    assert local_target(destination) == target


@pytest.mark.parametrize(
    ("path", "expected"),
    [("b.md", "d/b.md"), ("../b.md", "b.md"), ("../../b.md", "../b.md"), ("/b.md", "site/b.md"), ("..", "")],
)
def test_within(path, expected):
    assert within("site", "d", path) == expected


@pytest.mark.parametrize(("path", "levels"), [("a/..b", 0), ("", 0), ("..", 1), ("../../a", 2)])
def test_levels_above(path, levels):
    assert levels_above(path) == levels


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("L10", (10, 10)),
        ("L10-L20", (10, 20)),
        ("L10C3-L20C5", (10, 20)),
        ("L10-20", (10, 20)),
        ("L" + "9" * 5000, (999999999999, 999999999999)),
        ("L", None),
        ("L10-", None),
        ("license", None),
    ],
)
def test_line_range(fragment, expected):
    assert line_range(fragment) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("../../issues/1", True), ("../..", True), ("../../x", False), ("../issues", False)]
)
def test_pages_of_the_repository(path, expected):
    assert is_repository_page(path) is expected
