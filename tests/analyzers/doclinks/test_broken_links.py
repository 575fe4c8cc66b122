import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.doclinks.links import find_broken_links
from analyzers.doclinks.policy import DocsPolicy
from analyzers.doclinks.rules import RULES
from analyzers.finding import identify

CASES = Path(__file__).parents[2] / "cases"
LINKS = [case for name in ("links.json", "own_links.json") for case in json.loads((CASES / name).read_text("utf-8"))]
EVERYWHERE = DocsPolicy(maintained=("**/*.md",))


@pytest.fixture
def find(read_documents):
    def find(files, policy=EVERYWHERE):
        return find_broken_links(policy, files, read_documents(policy, files), files.get)

    return find


@pytest.mark.parametrize("case", LINKS, ids=lambda case: case["id"])
def test_exactly_the_broken_links_are_reported(case, find):
    policy = EVERYWHERE.model_copy(update={"dialect": case.get("dialect", "github")})
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
    policy = DocsPolicy(maintained=("README.md",), folders={"docs": {"dialect": "mkdocs"}})
    assert [finding.subject for finding in find(files, policy)] == ["docs/a.md#foo-1"]


def test_a_document_without_facts_may_be_linked_to(read_documents):
    files = {"a.md": "[x](b.md#any)", "b.md": "# Unread"}
    documents = read_documents(EVERYWHERE, {"a.md": files["a.md"]})
    assert find_broken_links(EVERYWHERE, files, documents, files.get) == []


def test_lines_of_a_file_that_is_no_text_are_not_judged(read_documents):
    files = {"a.md": "[x](b.bin#L9)", "b.bin": ""}
    documents = read_documents(EVERYWHERE, files)
    assert find_broken_links(EVERYWHERE, files, documents, lambda path: None) == []


@pytest.mark.parametrize("pattern", ["gone.md", "docs/**/*.md", "docs"])
def test_a_maintained_document_that_is_missing(pattern, find):
    [finding] = find({"README.md": ""}, DocsPolicy(maintained=("README.md", pattern)))
    assert (finding.rule, finding.path, finding.line, finding.subject) == ("DOC007", pattern, 0, pattern)


def test_the_default_patterns_need_not_match(find):
    assert find({"setup.py": ""}, DocsPolicy()) == []


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
        findings = find_broken_links(EVERYWHERE, files, read_documents(EVERYWHERE, files), files.get)
        return [finding.fingerprint for finding in identify(findings)]

    moved = list(lines)
    for place in places:
        moved.insert(place, "\n")
    assert fingerprints(moved) == fingerprints(lines)
