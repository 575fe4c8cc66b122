import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzers.doclinks.links import find_broken_links
from analyzers.doclinks.policy import DocsPolicy, FolderPolicy
from analyzers.doclinks.rules import RULES
from analyzers.finding import identify

CASES = Path(__file__).parents[2] / "cases"
LINKS = [case for name in ("links.json", "own_links.json") for case in json.loads((CASES / name).read_text("utf-8"))]
EVERYWHERE = DocsPolicy(maintained=("**/*.md",))


def nowhere_else(path):
    """A root without a repository."""


@pytest.fixture
def find(read_documents):
    def find(files, policy=EVERYWHERE, has_elsewhere=nowhere_else):
        return find_broken_links(policy, files, read_documents(policy, files), files.get, has_elsewhere)

    return find


@pytest.mark.parametrize("case", LINKS, ids=lambda case: case["id"])
def test_exactly_the_broken_links_are_reported(case, find):
    policy = replace(EVERYWHERE, dialect=case.get("dialect", "github"))
    found = [[finding.path, finding.line, finding.subject] for finding in find(case["files"], policy)]
    assert found == case["broken"]


BROKEN = {
    "DOC001": {"a.md": "[x](gone.md)"},
    "DOC002": {"a.md": "[x](#gone)"},
    "DOC003": {"a.md": "[x](b.py#L2)", "b.py": "1\n"},
    "DOC004": {"a.md": "![x](gone.png)"},
    "DOC005": {"a.md": "[x](../a.md)"},
    "DOC006": {"a.md": "[x](A.md)"},
    "DOC007": {"a.txt": ""},
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_rule_can_be_broken_on_its_own(rule, find):
    assert [finding.rule for finding in find(BROKEN[rule.code])] == [rule.code]


def test_rules_have_unique_names_and_full_pages():
    assert len({rule.name for rule in RULES}) == len({rule.code for rule in RULES}) == len(RULES)
    assert all(all((rule.what, rule.why, rule.bad, rule.good, rule.fix)) for rule in RULES)


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({"a.md": "[x](docs/instal.md)", "docs/install.md": ""}, 'did you mean "docs/install.md"?'),
        ({"a.md": "[x](install.md)", "docs/install.md": ""}, 'did you mean "docs/install.md"?'),
        ({"d/a.md": "[x](/install.md)", "docs/install.md": ""}, 'did you mean "/docs/install.md"?'),
        ({"d/a.md": "[x](./b.md)", "d/c/b.md": ""}, 'did you mean "./c/b.md"?'),
        ({"a.md": "[x](exmaples/)", "examples/b.py": ""}, 'did you mean "examples/"?'),
        ({"a.md": "[x](Docs/B.md)", "docs/b.md": ""}, 'did you mean "docs/b.md"?'),
        ({"a.md": "# Set up\n[x](#setup)"}, 'did you mean "#set-up"?'),
        ({"a.md": "# Installation\n[x](#install)"}, 'did you mean "#installation"?'),
        ({"a.md": "[x](b.py#L9)", "b.py": "1\n2\n"}, "b.py has 2 lines"),
        ({"a.md": "[x](zebra.md)"}, ""),
        ({"a.md": "![x](img/a.pgn)", "img/a.png": "", "img/b.png": ""}, 'did you mean "img/a.png"?'),
        ({"a.md": "[x](guide.md)", "guide.rst": ""}, 'did you mean "guide.rst"?'),
        ({"a.md": "[x](tw.md)", "tw1.md": "", "tw2.md": ""}, 'did you mean "tw2.md" or "tw1.md"?'),
        ({"a.md": "# V 1\n# V 2\n[x](#v-3)"}, 'did you mean "#v-2" or "#v-1"?'),
        ({"a.md": "[x](d/a%20c.md)", "d/a b.md": ""}, 'did you mean "d/a%20b.md"?'),
        ({"a.md": "[x](<d/a c.md>)", "d/a b.md": ""}, 'did you mean "d/a b.md"?'),
        ({"a.md": "[x](b.md)", "a (b)/b.md": ""}, 'did you mean "a%20%28b%29/b.md"?'),
        ({"a.md": "# Über uns\n[x](#%C3%BCber-un)"}, 'did you mean "#%C3%BCber-uns"?'),
    ],
)
def test_hints(files, hint, find):
    assert [finding.hint for finding in find(files)] == [hint]


def test_the_message_quotes_the_target_as_written(find):
    [finding] = find({"a.md": "Text [x](b%20c.md#d)\n"})
    assert finding.message == '"b%20c.md#d" leads to no file or folder: there is no b c.md'
    assert (finding.line, finding.column) == (1, 6)


def test_only_maintained_documents_are_checked_and_all_may_be_targets(find):
    files = {"README.md": "[x](notes.md#top-notes) [y](notes.md#gone)", "notes.md": "# Top notes\n[z](gone.md)"}
    policy = DocsPolicy(maintained=("README.md",))
    assert [finding.subject for finding in find(files, policy)] == ["notes.md#gone"]


def test_anchors_are_judged_in_the_dialect_of_the_target(find):
    files = {"README.md": "[x](docs/a.md#foo_1) [y](docs/a.md#foo-1)", "docs/a.md": "# Foo\n# Foo\n"}
    policy = DocsPolicy(maintained=("README.md",), folders={"docs": FolderPolicy(dialect="mkdocs")})
    assert [finding.subject for finding in find(files, policy)] == ["docs/a.md#foo-1"]


def test_a_document_without_facts_may_be_linked_to(read_documents):
    files = {"a.md": "[x](b.md#any)", "b.md": "# Unread"}
    documents = read_documents(EVERYWHERE, {"a.md": files["a.md"]})
    assert find_broken_links(EVERYWHERE, files, documents, files.get, nowhere_else) == []


def test_lines_of_a_file_that_is_no_text_are_not_judged(read_documents):
    files = {"a.md": "[x](b.bin#L9)", "b.bin": ""}
    documents = read_documents(EVERYWHERE, files)
    assert find_broken_links(EVERYWHERE, files, documents, lambda path: None, nowhere_else) == []


def monorepo(path):
    """What a repository says that holds the tree as its folder packages/one: a licence and a submodule, and in the
    tree another one."""
    if path.split("/").count("..") > 2:
        return None
    return path in ("../../LICENSE.md", "../two") or f"{path}/".startswith(("../../vendored/", "third_party/lib/"))


@pytest.mark.parametrize(
    "target",
    [
        "../../../LICENSE.md#any",
        "../../../LICENSE.md#L99",
        "/LICENSE.md",
        "/a.md",
        "../../two/",
        "../..",
        "../../../",
        "../../../vendored/deep/b.md",
        "../third_party/lib",
        "../third_party/lib/README.md#any",
        "/third_party/lib/",
        "../../../../../issues/7",
    ],
)
def test_what_the_repository_holds_beside_the_tree_may_be_linked_to(target, find):
    files = {"docs/a.md": f"[x]({target})", "a.md": ""}
    assert find(files, has_elsewhere=monorepo) == []


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("../../../GONE.md", "DOC001"),
        ("../../two/b.md", "DOC001"),
        ("/gone.md", "DOC001"),
        ("../../issues", "DOC001"),
        ("../../../..", "DOC005"),
        ("../../../../b.md", "DOC005"),
    ],
)
def test_what_it_does_not_hold_is_missing_and_what_lies_above_it_is_outside(target, rule, find):
    findings = find({"docs/a.md": f"[x]({target})"}, has_elsewhere=monorepo)
    assert [finding.rule for finding in findings] == [rule]


def test_a_submodule_below_a_site_is_found_from_its_root(find):
    policy = DocsPolicy(maintained=("**/*.md",), dialect="mkdocs")
    files = {"docs/a/b.md": "[x](/lib/c.md) [y](../lib/c.md) [z](../gone/c.md)"}
    findings = find(files, policy, lambda path: path.startswith("docs/lib/"))
    assert [finding.subject for finding in findings] == ["../gone/c.md"]


def test_a_repository_may_be_the_whole_disk(find):
    assert [finding.rule for finding in find({"a.md": "[x](../b.md)"}, has_elsewhere=lambda path: False)] == ["DOC001"]


@pytest.mark.parametrize("pattern", ["gone.md", "docs/**/*.md", "docs"])
def test_a_maintained_document_that_is_missing(pattern, find):
    [finding] = find({"README.md": ""}, DocsPolicy(maintained=("README.md", pattern)))
    assert (finding.rule, finding.path, finding.line, finding.subject) == ("DOC007", pattern, 0, pattern)


def test_the_default_patterns_need_not_match(find):
    assert find({"setup.py": ""}, DocsPolicy()) == []


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.text("ab .()#?%&'éß日", min_size=1, max_size=8).filter(lambda name: name.strip(" .") == name),
    st.sampled_from(["[x](%s)", "[x](<%s>)", "[r]: %s", "<a href='%s'>"]),
)
def test_a_suggestion_can_be_pasted(read_documents, folder, style):
    def find(text):
        files = {"a.md": text, f"{folder}/target.md": ""}
        return find_broken_links(EVERYWHERE, files, read_documents(EVERYWHERE, files), files.get, nowhere_else)

    [finding] = find(style % "target.md")
    assert find(style % finding.hint.removeprefix('did you mean "').removesuffix('"?')) == []


def test_suggestions_end_before_they_cost_much(find):
    names = ["".join(letters) for letters in itertools.product("abcdefghij", repeat=3)]
    files = {f"{name}.md": "" for name in names}
    files["x.md"] = "".join(f"[x]({name}q.md)\n" for name in names)
    findings = find(files)
    assert len(findings) == len(names)
    assert findings[0].hint
    assert not findings[-1].hint


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(["[x](gone.md)\n", "![y](z.png)\n", "# A\n", "[x](#b)\n", "text\n"]), max_size=12),
    st.lists(st.integers(0, 12), max_size=4),
)
def test_added_lines_never_change_what_is_found(read_documents, lines, places):
    def fingerprints(lines):
        files = {"a.md": "".join(lines)}
        findings = find_broken_links(EVERYWHERE, files, read_documents(EVERYWHERE, files), files.get, nowhere_else)
        return [finding.fingerprint for finding in identify(findings)]

    moved = list(lines)
    for place in places:
        moved.insert(place, "\n")
    assert fingerprints(moved) == fingerprints(lines)
