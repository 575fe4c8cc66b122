import json
from pathlib import Path

import pytest

from analyzers.markdown.slugs import github_slug, mkdocs_slug, slugger_for

DOCUMENTS = json.loads(Path(__file__).with_name("slugs.json").read_text("utf-8"))["documents"]


@pytest.mark.parametrize("dialect", ["github", "mkdocs"])
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["headings"][0])
def test_slugs_equal_those_of_the_original_library(document, dialect):
    slugger = slugger_for(dialect, ())
    assert [slugger(heading) for heading in document["headings"]] == document[dialect]


def test_an_id_set_anywhere_in_the_document_is_not_given_to_a_heading():
    slugger = slugger_for("mkdocs", {"foo", "foo_1"})
    assert slugger("Foo") == "foo_2"


def test_github_knows_no_reserved_ids():
    assert slugger_for("github", {"foo"})("Foo") == "foo"


def test_a_slug_on_its_own_is_not_counted():
    assert [github_slug("A b"), github_slug("A b")] == ["a-b", "a-b"]
    assert [mkdocs_slug("A  b"), mkdocs_slug("É")] == ["a-b", "e"]
